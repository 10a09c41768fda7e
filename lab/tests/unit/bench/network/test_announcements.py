"""Filters of the announcement benchmark, and the cost of flooding them."""

import pytest

from cbnet import Message, covers, parse
from cbnet.errors import InputError
from cbnet.language.syntax.byte_form import canonical_filter, filter_to_bytes
from cbnet.topology import topology
from cbnet_lab.bench.network.announcements import flooding_cost
from cbnet_lab.bench.network.traffic import POPULATIONS, filter_population


def filters_of(traffic):
    return [filter for _, text in traffic.predicates for filter in parse(text).filters]


@pytest.mark.parametrize("kind", POPULATIONS)
def test_every_message_of_a_population_matches_a_filter(kind):
    traffic = filter_population(kind, clients=4, filters=30, messages=20, seed=1)
    assert len(traffic.subscribers) == 4
    assert traffic.filters == 120
    predicates = [parse(text) for _, text in traffic.predicates]
    for content in traffic.contents:
        assert any(each.matches(Message.from_dict(content)) for each in predicates)


def test_random_filters_have_three_constraints_and_are_all_different():
    filters = filters_of(filter_population("random", 4, 30, 1, seed=1))
    assert len(set(filters)) == 120
    assert {len(filter.constraints) for filter in filters} == {3}


def test_30_percent_are_covered_by_others():
    filters = filters_of(filter_population("covered", 2, 30, 1, seed=1))
    covered = [each for each in filters if any(covers(other, each) for other in filters if other != each)]
    assert len(covered) >= 18
    assert sum(len(filter.constraints) == 4 for filter in filters) == 18


def test_an_unknown_population_is_refused():
    with pytest.raises(InputError, match="unknown population 'some'"):
        filter_population("some", 2, 2, 1, 0)


def test_flooding_passes_each_predicate_over_each_link_but_one_way_of_a_tree():
    # A triangle: r0 tells r1 and r2, who tell each other, 4 frames; so 2 * 3 - 3 + 1 for each of the 3 routers.
    clients = [parse("x > 1 or x > 2"), parse("x > 1"), parse("y = 1")]
    cost, held = flooding_cost(topology("ring:3"), [list(each) for each in clients])
    sizes = [len(filter_to_bytes(canonical_filter(parse(text).filters[0]))) for text in ("x > 1", "y = 1")]
    assert (cost.frames, cost.filters_sent, cost.bytes) == (12, 12, 4 * (2 * sizes[0] + sizes[1]))
    assert held == 2
