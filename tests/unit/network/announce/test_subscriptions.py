"""Which clients a message goes to, and what a router announces for them."""

from support.memory_networks import content, encoded

from cbnet import parse_filter
from cbnet.language.syntax.byte_form import filter_to_bytes, predicate_to_bytes
from cbnet.network.announce.subscriptions import SLICE, OwnSource, Subscriptions
from cbnet.network.forwarding.forwarding_table import Fib, InternalSubscriber, Matches


def subscriptions(*said):
    new = Subscriptions(Fib(None, None, None))  # no neighbours
    for link, id, text in said:
        new.set(link, id, predicate_to_bytes(text))
    return new


def own(new, source=OwnSource.CLIENTS):
    return set(new.fib.aggregation.filters(source))


def test_message_matches_exactly_the_right_subscriptions():
    new = subscriptions((1, 1, "x = 1"), (1, 2, "x > 0 or y = 1"), (2, 1, "x = 2"), (3, 7, "true"))
    assert new.fib.match(content(x=1)).clients == {1: [1, 2], 3: [7]}
    assert new.fib.match(content(y=1)).clients == {1: [2], 3: [7]}
    assert new.fib.match(content(x=2)).clients == {1: [2], 2: [1], 3: [7]}


def test_an_id_that_is_used_again_has_the_new_predicate_only():
    new = subscriptions((1, 1, "x = 1 or y = 1"), (1, 1, "y = 1 or z = 1"))
    assert new.fib.match(content(x=1)).clients == {}
    assert new.fib.match(content(y=1)).clients == new.fib.match(content(z=1)).clients == {1: [1]}
    assert own(new) == set(encoded("y = 1", "z = 1"))
    assert new.count(1) == 1


def test_the_subscriptions_of_a_client_go_with_it():
    new = subscriptions((1, 1, "x = 1"), (1, 2, "x = 1"), (2, 1, "x = 1"))
    new.remove_client(1)
    assert new.fib.match(content(x=1)).clients == {2: [1]}
    assert own(new) == set(encoded("x = 1"))
    new.remove_client(2)
    assert new.fib.match(content(x=1)).clients == {}
    assert len(own(new)) == new.own_filters == len(new.fib) == 0


def test_remove_returns_whether_there_was_a_subscription():
    new = subscriptions((1, 1, "x = 1"))
    assert not new.remove(1, 2)
    assert not new.remove(2, 1)
    assert new.remove(1, 1)
    assert not new.remove(1, 1)


def test_equivalent_filters_are_one_until_both_are_removed():
    new = subscriptions((1, 1, "b != true or b = false"), (1, 2, "b = false"))
    assert new.fib.match(content(b=False)).clients == {1: [1, 2]}
    new.remove(1, 2)
    assert new.fib.match(content(b=False)).clients == {1: [1]}
    assert own(new)
    new.remove(1, 1)
    assert not own(new)


def test_a_filter_that_no_message_matches_is_not_announced():
    assert own(subscriptions((1, 1, "x < 0 and x > 0 or x = 1"))) == set(encoded("x = 1"))


def test_redundant_constraints_are_not_announced():
    assert own(subscriptions((1, 1, "x > 0 and x > 1"), (2, 1, "x > 1"))) == set(encoded("x > 1"))


def test_interests_of_other_domains_are_announced_apart():
    new = subscriptions((1, 1, "x = 1"), (InternalSubscriber.OTHER_DOMAINS, 0, "x = 1 or y = 1"))
    assert own(new) == set(encoded("x = 1"))
    assert own(new, OwnSource.DOMAINS) == set(encoded("x = 1", "y = 1"))
    assert new.fib.match(content(y=1)) == Matches({}, [0], False, 0, [])
    new.remove(InternalSubscriber.OTHER_DOMAINS, 0)
    assert (own(new), own(new, OwnSource.DOMAINS)) == (set(encoded("x = 1")), set())


def test_many_that_come_and_go_leave_no_trace_in_the_table():
    new = subscriptions()
    for turn in range(50):
        new.set(turn, 1, predicate_to_bytes("x = 1"))
        new.remove_client(turn)
    assert len(new.fib.table) == 1


def test_removed_client_keeps_filters_of_others():
    new = subscriptions((1, 1, "x > 1"), (1, 2, "x > 2 or y = 1"), (2, 1, "x > 2"))
    new.remove_client(1)
    assert own(new) == set(encoded("x > 2"))
    assert new.fib.size == len(filter_to_bytes(parse_filter("x > 2")))
    assert len(new.fib) == 1


def test_the_filters_of_a_client_that_leaves_with_very_many_are_removed_in_slices_and_match_nothing_meanwhile():
    texts = (" or ".join(f"x = {first + value}" for value in range(SLICE)) for first in (0, 1000, 2000))
    new = subscriptions(*((1, id, text) for id, text in enumerate(texts)), (2, 7, "x = 2000"))
    new.remove_client(1)
    left = [new.own_filters]
    while new.has_work:
        assert new.fib.match(content(x=2000)).clients == {2: [7]}
        new.work()
        left.append(new.own_filters)
    assert left == [2 * SLICE + 1, SLICE + 1, 1]  # the last one first, of which another client has a filter
    assert own(new) == set(encoded("x = 2000"))
    assert (new.fib.table.size, len(new.fib), new.count(1)) == (1, 1, 0)


def test_a_client_with_very_many_subscriptions_leaves_in_equal_slices():
    new = subscriptions(*((1, id, f"x = {id}") for id in range(3 * SLICE)), (1, 9000, "false"))
    new.remove_client(1)
    left = [new.own_filters]
    while new.has_work:
        new.work()
        left.append(new.own_filters)
    assert left == [2 * SLICE, SLICE, 0]
    assert (new.fib.table.size, len(new.fib)) == (0, 0)
