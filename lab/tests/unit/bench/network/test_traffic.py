import numpy as np

from cbnet import Message, parse
from cbnet_lab.bench.network import traffic as traffics
from cbnet_lab.bench.network.traffic import expected_deliveries, mixed_traffic


def brute_force(traffic):
    """Return how often each content must come to each subscriber, predicate by predicate."""
    subscribers = [[parse(text) for text in own] for own in traffic.subscribers]
    messages = [Message.from_dict(content) for content in traffic.contents]
    return [[sum(each.matches(message) for each in own) for own in subscribers] for message in messages]


def test_mixed_traffic_goes_to_who_the_reference_says():
    traffic = mixed_traffic("2002", 8, 20, 60, seed=3)
    right = expected_deliveries(traffic)
    assert right.checked == 60
    assert right.counts.tolist() == brute_force(traffic)
    assert right.counts.sum() > 0
    assert right.deliveries == right.counts.sum(axis=1).tolist()


def test_where_there_is_no_time_a_table_says_the_same(monkeypatch):
    traffic = mixed_traffic("2002", 3, 40, 90, seed=3)
    all_checked = expected_deliveries(traffic)
    monkeypatch.setattr(traffics, "_MAX_REFERENCE_PAIRS", 120 * 7)
    some_checked = expected_deliveries(traffic)
    assert (all_checked.checked, some_checked.checked) == (90, 7)
    assert np.array_equal(all_checked.counts, some_checked.counts)
