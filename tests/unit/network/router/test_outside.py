"""What other domains are told of one: the changes as they are, or a summary of all."""

from random import Random

import pytest

from cbnet import parse
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.network.announce.exports import ExportChange
from cbnet.network.router import outside
from cbnet.network.router.outside import Outside
from cbnet.routing.aggregation.aggregation import Difference
from cbnet.routing.schemes.domains import SUMMARIES, summary

NONE = Difference([], [])


def encoded(*texts):
    return [filter_to_bytes(filter) for text in texts for filter in parse(text).filters]


def change(sequence, added=(), removed=(), *, is_whole=False, offers=NONE):
    return ExportChange(sequence, (Difference(encoded(*added), encoded(*removed)), offers), is_whole)


def texts(changes):
    subscriptions, _ = changes
    return [sorted(map(str, each)) for each in subscriptions]


def test_an_exact_change_is_told_as_it_is():
    side = Outside("a", "exact")
    assert not side.is_due(0)
    side.change(change(1, ["x = 1", "y = 2"], is_whole=True))
    assert side.is_due(0)
    assert texts(side.take_changes(0)) == [["x = 1", "y = 2"], []]
    assert not side.is_due(0)
    side.change(change(2, ["x > 0"], ["x = 1"]))
    assert texts(side.take_changes(0)) == [["x > 0"], ["x = 1"]]
    assert texts(side.announced) == [["x > 0", "y = 2"], []]
    assert side.sequence == 2


def test_changes_that_undo_each_other_are_not_told():
    side = Outside("a", "exact")
    side.change(change(1, ["x = 1"]))
    side.change(change(2, [], ["x = 1"]))
    assert texts(side.take_changes(0)) == [[], []]


def test_of_a_whole_content_only_what_is_new_is_told():
    side = Outside("a", "exact")
    side.change(change(1, ["x = 1", "y = 2"], is_whole=True))
    side.take_changes(0)
    side.change(change(2, ["y = 2", "z = 3"], is_whole=True))
    assert texts(side.take_changes(0)) == [["z = 3"], ["x = 1"]]


def test_offers_are_told_beside_subscriptions():
    side = Outside("a", "names")
    side.change(change(1, ["x = 1"], offers=Difference(encoded("s = 1"), [])))
    subscriptions, offers = side.take_changes(0)
    assert [[str(each) for each in kind.added] for kind in (subscriptions, offers)] == [["exists x"], ["exists s"]]


def test_what_is_too_large_is_told_as_everything_until_it_is_small_again(monkeypatch):
    monkeypatch.setattr(outside, "MAX_SUMMARY_FILTERS", 2)
    side = Outside("a", "exact")
    side.change(change(1, ["x = 1", "x = 2"]))
    side.take_changes(0)
    side.change(change(2, ["x = 3"]))
    assert texts(side.take_changes(0)) == [["true"], ["x = 1", "x = 2"]]
    side.change(change(3, [], ["x = 1"]))
    assert texts(side.take_changes(9)) == [["x = 2", "x = 3"], ["true"]]


def test_a_summary_of_many_filters_is_not_made_at_every_change():
    side = Outside("a", "names")
    side.change(change(1, [f"x = {number}" for number in range(1_000)]))
    side.take_changes(5.0)
    side.change(change(2, ["y = 1"]))
    assert not side.is_due(5.019)  # 1,000 of 50,000 per second
    assert side.is_due(5.021)


@pytest.mark.parametrize("name", SUMMARIES)
def test_after_any_changes_the_others_have_been_told_the_summary_of_the_content(name):
    random = Random(name)
    side, content, told = Outside("a", name), set(), set()
    filters = [f"x = {number} and {letter} > 1" for number in range(5) for letter in "abc"]
    for sequence in range(1, 60):
        changed = set(random.sample(filters, random.randint(0, 4)))
        added, removed = changed - content, changed & content
        content ^= changed
        if random.random() < 0.2:
            side.change(change(sequence, content, is_whole=True))
        else:
            side.change(change(sequence, added, removed))
        if random.random() < 0.7:
            subscriptions, _ = side.take_changes(sequence)
            assert not told & set(subscriptions.added)
            assert told >= set(subscriptions.removed)
            told = told.union(subscriptions.added).difference(subscriptions.removed)
            expected = summary(name)(Predicate(filter for text in content for filter in parse(text).filters))
            assert told == set(expected.filters)
