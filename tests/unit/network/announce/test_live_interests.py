"""Who wants a message, asked of a table that changes."""

from support.memory_networks import content, database

from cbnet import parse
from cbnet.network.announce.live_interests import LiveInterests


def interests():
    db = database("a-b b-c", {"a": "x > 1", "c": "x > 2 and y = 1", "far": "x > 0"})
    return db, LiveInterests(["a", "b", "c"], db.predicates)


def test_receivers_are_bits():
    _, live = interests()
    assert live.disjunction([live.of(0), live.of(2)]) == 0b101
    assert live.matched(content(x=3, y=1)) == 0b101
    assert live.matched(content(x=2)) == 0b001
    assert live.matched(content(x=1)) == 0  # wanted by a node that cannot be reached
    assert live.interested(content(x=3, y=1)) == {0, 2}


def test_the_answer_follows_the_table():
    db, live = interests()
    message = content(x=3, y=1)
    assert live.matched(message) == 0b101
    db.predicates.forget("a")
    assert live.matched(message) == 0b100


def test_assumed_receivers_replace_the_matched_ones():
    _, live = interests()
    live.assume(0b010)
    assert live.matched(content(x=3)) == 0b010
    assert live.receivers(content(x=3)) == 0b001
    live.assume(None)
    assert live.matched(content(x=3)) == 0b001


def test_predicates_and_their_words():
    _, live = interests()
    assert live.predicate(0b101) == parse("x > 1 or x > 2 and y = 1")
    assert live.words(0b101) == 3
    assert live.unreduced_words(2) == 2
