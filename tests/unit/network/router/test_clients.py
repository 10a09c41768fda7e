"""What clients are answered."""

import pytest
from support.memory_networks import Alone, sent, shut

from cbnet.language.syntax import byte_form
from cbnet.network.announce.subscriptions import STEP
from cbnet.network.forwarding.forwarding_table import predicate_of
from cbnet.network.protocol.frames import (
    Announce,
    OfferFrame,
    Ping,
    Pong,
    RefusedFrame,
    Subscribe,
    Subscribed,
    Trace,
    TraceEnd,
    Unsubscribe,
    Unsubscribed,
    Withdraw,
)
from cbnet.network.protocol.predicate_texts import read_ahead
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.router import clients, filter_quotas
from cbnet.network.security.access import OPEN_ACCESS
from cbnet.network.security.rights import read_rights


def alone():
    new = Alone("a")
    new.client_link(1)
    return new


@pytest.mark.parametrize(
    ("predicate", "reason"),
    [
        ("x <", "1:4: a value is missing"),
        ("x in ()", "1:7: expected a value"),
        ("lower(x) < 1 + ", "1:16: unexpected end of text"),
        (" + ".join("x" * 70) + " > 1", "levels of operations in an expression"),
        (" or ".join(f"x = {n}" for n in range(1_001)), "filters in the normal form: 1,001 is over the limit of 1,000"),
        ("(" * 200 + "x = 1" + ")" * 200, "nest"),
        ('#"' + "é" * 40_000 + '"', "a filter of 80,006 bytes; at most 65,536 are allowed"),
    ],
)
def test_a_predicate_that_cannot_be_is_refused_and_the_link_goes_on(predicate, reason):
    new = alone()
    done = new.say(1, Subscribe(7, predicate, 0))
    (refused,) = sent(done)
    assert (refused.frame, refused.number) == (20, 7)
    assert reason in refused.reason
    assert shut(done) == {}
    assert len(new.router.fib) == 0
    assert sent(new.say(1, Subscribe(7, "x = 1", 0)), Subscribed) == [Subscribed(7, False, 1, [])]


def test_a_refused_change_leaves_the_subscription_as_it_was():
    new = alone()
    new.say(1, Subscribe(7, "x = 1", 0), Subscribe(7, "x <", 0))
    assert [str(predicate_of(filters)) for _, _, filters in new.router.fib.local()] == ["x = 1"]


def test_unsubscribing_is_answered():
    new = alone()
    new.say(1, Subscribe(7, "x = 1", 0))
    assert sent(new.say(1, Unsubscribe(7))) == [Unsubscribed(7)]
    assert sent(new.say(1, Unsubscribe(7))) == [RefusedFrame(21, 7, "unknown subscription 7", ReasonCode.UNKNOWN)]


@pytest.mark.parametrize("conditions", [1, 5, 60])
def test_no_filter_that_was_read_ahead_is_decoded_when_its_frame_is_handled(conditions, monkeypatch):
    """Conditions take 0.1 ms each time, so that 900 of them would stop the router."""
    new = Alone("a")
    new.leaf(2, "b")
    new.client_link(1)
    new.router.links.get(1).rights = read_rights({"subscribe": "true", "constraints": 4_000}, "[clients.x]")
    filters = (range(n, n + conditions) for n in range(0, 900, conditions))
    text = " or ".join(" and ".join(f'a{n} like "%a_b%c"' for n in each) for each in filters)
    read_ahead(text, is_compared=False)
    decoded = []
    monkeypatch.setattr(byte_form, "_decode_condition", lambda part: decoded.append(part))
    done = [*new.say(1, Subscribe(7, text, 0)), *new.say(1, Unsubscribe(7))]
    more = done
    while pings := sent(more, Ping, link=2):  # the neighbour gets the next part when it has handled the one before
        more = new.say(2, Pong(pings[-1].number))
        done += more
    assert [*map(type, sent(done, link=1))] == [Subscribed, Unsubscribed]
    assert sum(len(frame.filters) for frame in sent(done, Announce)) == 2 * 900 / conditions
    assert not decoded


def test_one_client_cannot_touch_the_subscriptions_of_another():
    new = alone()
    new.client_link(2)
    new.say(1, Subscribe(7, "x = 1", 0))
    assert isinstance(sent(new.say(2, Unsubscribe(7)))[0], RefusedFrame)
    assert len(new.router.fib) == 1


def test_there_is_room_for_so_many_subscriptions_and_no_more(monkeypatch):
    monkeypatch.setattr(clients, "MAX_CLIENT_SUBSCRIPTIONS", 2)
    monkeypatch.setattr(filter_quotas, "MAX_NODE_FILTERS", 3)
    new = alone()
    new.say(1, Subscribe(1, "x = 1 or y = 1", 0))
    (refused,) = sent(new.say(1, Subscribe(2, "z = 1 or z = 2", 0)))
    assert refused.reason == "filters at a router: 4 is over the limit of 3"
    new.say(1, Subscribe(2, "z = 1", 0))
    (refused,) = sent(new.say(1, Subscribe(3, "x = 1", 0)))
    assert refused.reason == "subscriptions of a client: 3 is over the limit of 2"


def test_there_is_room_for_so_many_bytes_and_no_more(monkeypatch):
    monkeypatch.setattr(filter_quotas, "MAX_NODE_BYTES", 12)
    new = alone()  # a filter such as x = 1 takes 6 bytes
    assert isinstance(sent(new.say(1, Subscribe(1, "x = 1 or y = 1 or z = 1", 0)))[0], RefusedFrame)
    new.say(1, Subscribe(1, "x = 1", 0), Subscribe(2, "y = 1", 0))
    (refused,) = sent(new.say(1, Subscribe(3, "z = 1", 0)))
    assert refused.reason == "bytes of filters at a router: 18 is over the limit of 12"
    new.say(1, Unsubscribe(2))
    assert isinstance(sent(new.say(1, Subscribe(3, "z = 1", 0)))[0], Subscribed)


@pytest.mark.parametrize("frame", [Subscribe, OfferFrame])
def test_an_account_has_at_most_as_many_empty_predicates_as_constraints(frame):
    new = alone()
    new.router.links.get(1).rights = read_rights(
        {"subscribe": "true", "offer": "true", "constraints": 3}, "[clients.x]"
    )
    for id in range(3):
        assert sent(new.say(1, frame(id, "false", 0)), RefusedFrame) == []
    (refused,) = sent(new.say(1, frame(3, "false", 0)))
    kind = "subscriptions" if frame is Subscribe else "offers"
    assert refused.reason.startswith(
        f"too many constraints in all your {kind}, of which an empty one counts too: 4; your limit is 3"
    )
    assert sent(new.say(1, frame(3, "x = 1", 0)), RefusedFrame) == []


@pytest.mark.parametrize(
    ("trace", "reason"),
    [
        (Trace(number=1, attributes={"#": 1}, tags=[], payload=b"", is_dry=True, predicate="", at=""), "reserved"),
        (
            Trace(number=1, attributes={}, tags=[], payload=b"", is_dry=True, predicate="x <", at="a"),
            "a value is missing",
        ),
        (
            Trace(number=1, attributes={}, tags=[], payload=b"", is_dry=True, predicate="x = 1", at=""),
            "give both, or neither",
        ),
        (
            Trace(number=1, attributes={}, tags=[], payload=b"", is_dry=True, predicate="", at="a"),
            "give both, or neither",
        ),
    ],
)
def test_a_trace_that_makes_no_sense_is_refused(trace, reason):
    new = alone()
    (refused,) = sent(new.say(1, trace))
    assert reason in refused.reason
    assert sent(new.wait(3.0), TraceEnd) == []


MANY = [f"x = {n}" for n in range(3 * STEP)]


def stepped(new, frame):
    """Handle a frame in steps; return what is sent in each."""
    turns = [new.router.received_all(1, [frame], new.now, in_steps=True)]
    while new.router.links.get(1).steps is not None:
        turns.append(new.router.received_all(1, [], new.now, in_steps=True))
    return turns


def filters(new):
    return len(new.router.fib.local_filters(1, 7))


def test_many_filters_are_added_and_removed_in_steps_and_the_answer_is_the_last():
    new = alone()
    new.leaf(2, "b")
    for frame, answer in ((Subscribe(7, " or ".join(MANY), 0), Subscribed), (Unsubscribe(7), Unsubscribed)):
        turns = stepped(new, frame)
        assert len(turns) == 3
        assert [len(sent(turn, answer, 1)) for turn in turns] == [0, 0, 1]
        assert [len(frame.filters) for turn in turns for frame in sent(turn, Announce, 2)] == [STEP] * 3
    assert len(new.router.fib) == 0


def test_replaced_filters_are_removed_after_the_new_ones_were_added():
    new = alone()
    stepped(new, Subscribe(7, " or ".join(MANY), 0))
    counts = []
    new.router.received_all(1, [Subscribe(7, " or ".join(f"y = {n}" for n in range(2 * STEP)), 0)], 0.0, in_steps=True)
    while new.router.links.get(1).steps is not None:
        counts.append(filters(new) // STEP)
        new.router.received_all(1, [], 0.0, in_steps=True)
    assert counts == [4, 5, 4, 3]
    assert filters(new) == 2 * STEP


def test_link_that_closes_between_two_steps_leaves_nothing():
    new = alone()
    new.router.received_all(1, [Subscribe(7, " or ".join(MANY), 0)], new.now, in_steps=True)
    assert filters(new) == STEP
    new.close(1)
    assert len(new.router.fib) == new.router.subscriptions.own_filters == 0


def test_a_reload_makes_the_steps_that_remain():
    new = alone()
    new.router.received_all(1, [Subscribe(7, " or ".join(MANY), 0)], new.now, in_steps=True)
    done = new.router.reload(new.router.settings, OPEN_ACCESS, new.now)
    assert sent(done, Subscribed, 1)
    assert filters(new) == len(MANY)


def test_offers_are_added_and_removed_in_steps():
    new = alone()
    assert len(stepped(new, OfferFrame(7, " or ".join(MANY), 0))) == 3
    assert len(stepped(new, Withdraw(7))) == 3
    assert len(new.router.offer_fib) == 0


def test_a_member_of_a_queue_group_joins_and_leaves_in_one_step():
    new = alone()
    other = " or ".join(f"y = {n}" for n in range(2 * STEP))
    for predicate in (" or ".join(MANY), other):
        assert len(stepped(new, Subscribe(7, predicate, 0, group="workers"))) == 1
    assert len(stepped(new, Subscribe(7, other + " or y = -1", 0))) == 1  # leaves the group
    assert len(stepped(new, Subscribe(7, " or ".join(MANY), 0, group="workers"))) == 1
    assert len(stepped(new, Unsubscribe(7))) == 1
    assert len(new.router.fib) == 0


def test_filters_count_for_quotas_from_the_first_step_on():
    new = alone()
    new.router.received_all(1, [Subscribe(7, " or ".join(MANY), 0)], new.now, in_steps=True)
    assert filters(new) == STEP
    assert new.router.subscriptions.load([1]).filters == len(MANY)
    while new.router.links.get(1).steps is not None:
        new.router.received_all(1, [], new.now, in_steps=True)
    assert new.router.subscriptions.load([1]).filters == len(MANY)
    stepped(new, Unsubscribe(7))
    assert new.router.subscriptions.load([1]) == (0, 0)


def test_the_wait_for_confirmation_begins_with_the_first_step():
    new = alone()
    new.leaf(2, "b")  # acknowledges nothing
    new.router.received_all(1, [Subscribe(7, " or ".join(MANY), 2.0)], new.now, in_steps=True)
    assert not sent(new.wait(1.5), Subscribed)
    while new.router.links.get(1).steps is not None:
        new.router.received_all(1, [], new.now, in_steps=True)
    assert not sent(new.wait(0.3), Subscribed)
    (answer,) = sent(new.wait(0.5), Subscribed)
    assert not answer.is_confirmed
