"""The check of networks that settle, and of requests, with records written by hand."""

import pytest

from cbnet_lab.faults.check.checker import check_record
from cbnet_lab.faults.record import (
    AnswerEvent,
    BeginEvent,
    CompareEvent,
    ConfirmEvent,
    EndEvent,
    FaultEvent,
    PublishEvent,
    ReceiveEvent,
    RequestEvent,
    SettleEvent,
    SubscribeEvent,
    UnsubscribeEvent,
)

# Routers a and b; a client of each wants k = 1. All is known at 2.
BEGIN = [
    BeginEvent(0.0, routers=2, slack=4.0, recovery=9.0, delay=3.0, harmless=["slow"]),
    FaultEvent(0.0, "network", "start"),
    SubscribeEvent(0.0, "near", "near/1", "a", "k = 1", kind="plain"),
    SubscribeEvent(0.0, "far", "far/1", "b", "k = 1", kind="plain"),
    SubscribeEvent(0.0, "far", "offer", "b", "item = 1", kind="offer"),
]
SETTLED = SettleEvent(2.0, since=0.0)
CUT = FaultEvent(12.0, "a-b", "cut")
BOTH, NEAR = ["a", "b"], ["a"]


def publish(number, at, k=1, reach=BOTH):
    return PublishEvent(at, "p", number, {"k": k}, reach=reach)


def receive(number, at, client="far", **content):
    return ReceiveEvent(at, client, f"{client}/1", 0, 1, "p", number, **content)


def request(at, reach=BOTH):
    return RequestEvent(at, "near", 1, {"item": 1}, 5.0, reach)


def answer(at, outcome, **message):
    return AnswerEvent(at, 1, outcome, message)


def check(*events, settled=SETTLED):
    done = sorted([*BEGIN, settled, *events, EndEvent(60.0, {})], key=lambda event: event.at)
    return check_record(done)


def violations(*events, **options):
    return {kind: len(each) for kind, each in check(*events, **options).violations.items()}


ALL = [publish(1, 10), receive(1, 10.1, "near"), receive(1, 10.1)]


def test_exact_deliveries_in_a_settled_network_pass():
    found = check(*ALL)
    assert found.is_good
    assert +found.counts == {"published": 1, "received": 2, "settled": 1, "expected": 2, "checked": 2}
    assert found.recoveries == {"start": [2.0]}


def test_a_message_in_a_settled_network_reaches_all_that_match_and_can_be_reached():
    assert violations(*ALL[:2]) == {"lost": 1}
    assert violations(publish(1, 10, reach=NEAR), receive(1, 10.1, "near")) == {}
    assert violations(publish(1, 10, reach=NEAR), receive(1, 10.1, "near"), receive(1, 10.1)) == {"spurious": 1}
    assert violations(publish(1, 10, k=2)) == {}
    assert violations(publish(1, 10, k=2), receive(1, 10.1)) == {"spurious": 1}


def test_a_message_that_may_be_in_flight_at_a_change_may_be_missed():
    found = check(*ALL[:2], CUT)
    assert found.is_good
    assert (found.counts["missed"], found.missed) == (1, [(10.0, 1, False)])
    assert violations(publish(1, 8), receive(1, 8.1, "near"), CUT) == {"lost": 1}  # 4 s before
    early = FaultEvent(12.0, "a-b", "cut", in_flight=0.5)
    assert violations(*ALL[:2], early) == {"lost": 1}
    assert violations(*ALL[:2], FaultEvent(11.0, "near", "slow")) == {"lost": 1}


def test_a_message_during_a_change_may_be_missed_but_never_comes_twice_or_for_nothing():
    late = [CUT, publish(1, 13)]
    assert violations(*late) == {}
    assert violations(*late, receive(1, 13.1), receive(1, 13.2)) == {"repeated": 1}
    assert violations(CUT, publish(1, 13, k=2), receive(1, 13.1)) == {"spurious": 1}


def test_a_client_that_has_left_misses_messages_until_it_returns():
    left, settled = FaultEvent(5.0, "far", "leave"), SettleEvent(6.0, since=5.0)
    assert violations(left, settled, *ALL[:2]) == {}
    back = [FaultEvent(7.0, "far", "leave", is_end=True), SettleEvent(8.0, since=7.0)]
    assert violations(left, settled, *back, *ALL[:2]) == {"lost": 1}


def test_a_subscription_that_has_ended_receives_nothing_in_a_settled_network():
    ended = UnsubscribeEvent(5.0, "far/1")
    assert violations(ended, *ALL[:2]) == {}
    assert violations(ended, *ALL) == {"spurious": 1}


def test_a_replaced_subscription_may_receive_messages_of_its_last_predicate():
    other = SubscribeEvent(9.9, "far", "far/1", "b", "k = 2", kind="plain")
    assert violations(other, publish(1, 10), receive(1, 10.1, "near")) == {}
    assert violations(publish(1, 9.8), other, receive(1, 10.1, "near"), receive(1, 10.1)) == {}
    assert violations(other, publish(1, 10, k=3), receive(1, 10.1)) == {"spurious": 1}


@pytest.mark.parametrize(
    ("confirmed", "reached", "expected"), [(2, 2, {"unkept": 1}), (1, 2, {}), (2, 0, {}), (1, 1, {"unkept": 1})]
)
def test_what_is_published_after_a_confirmation_by_all_that_are_reached_is_received(confirmed, reached, expected):
    confirm = ConfirmEvent(9.0, "far/1", confirmed, reached)
    sent = [publish(1, 10), receive(1, 10.1, "near")]
    unsettled = FaultEvent(8.0, "a", "kill")
    assert violations(unsettled, confirm, *sent) == expected
    assert violations(unsettled, confirm, sent[0], FaultEvent(11.0, "b", "kill")) == {}


def test_order_and_content_are_checked():
    two = [publish(1, 10), publish(2, 10.01), receive(1, 10.1, "near"), receive(2, 10.1, "near")]
    assert violations(*two, receive(2, 10.2), receive(1, 10.3)) == {"order": 1}
    assert violations(*two, receive(1, 10.2), receive(2, 10.3, message={"k": 1})) == {}
    assert violations(*two, receive(1, 10.2), receive(2, 10.3, message={"k": 5})) == {"altered": 1}
    assert violations(*two, receive(1, 10.2), receive(2, 10.3, message={"k": 1}, payload="x")) == {"altered": 1}


def test_a_network_settles_in_time():
    assert violations(CUT, SettleEvent(22.0, since=12.0)) == {"unsettled": 1}
    assert violations(CUT, SettleEvent(20.0, since=12.0)) == {}
    assert violations(SettleEvent(50.0, since=45.0, is_settled=False)) == {"unsettled": 1}


def test_a_request_ends_with_a_reply_if_a_holder_can_be_reached():
    assert violations(request(10), answer(10.1, "reply", item=1, of="far")) == {}
    assert violations(request(10), answer(10.1, "cached reply", item=2)) == {"wrong reply": 1}
    assert violations(request(10), answer(10.1, "no holder")) == {"no reply": 1}
    assert violations(request(10), answer(15.0, "timeout")) == {"no reply": 1}
    assert violations(request(10, reach=NEAR), answer(10.1, "no holder")) == {}
    assert violations(request(10), CUT, answer(15.0, "timeout")) == {}
    assert violations(request(10)) == {"endless": 1}
    assert violations(request(10), answer(12.0, "gone")) == {}
    assert violations(answer(12.0, "reply", item=1)) == {"wrong reply": 1}


def test_what_was_compared_and_differs_is_a_violation_of_its_name():
    assert violations(CompareEvent(10.0, "packets", "network", 5, 5)) == {}
    assert check(CompareEvent(10.0, "packets", "network", 6, 5)).violations == {
        "packets": ["network, at 10.0: 6, not 5"]
    }
