"""The check of histories, with histories written by hand: good ones pass, and each kind of violation is found."""

import pytest

from cbnet_lab.faults.check.checker import check_record
from cbnet_lab.faults.record import (
    AcknowledgeEvent,
    BeginEvent,
    ConfirmEvent,
    EndEvent,
    FaultEvent,
    HealEvent,
    LostEvent,
    PublishEvent,
    ReceiptEvent,
    ReceiveEvent,
    SubscribeEvent,
)

BEGIN = BeginEvent(0.0, routers=3, slack=0.5, recovery=15.0)
SUBSCRIBED = [
    BEGIN,
    SubscribeEvent(1.0, "c0", "even", "r1", "k in (0, 2, 4)", ack_wait=3.0),
    ConfirmEvent(2.0, "even", routers=3),
]
END = [HealEvent(90.0), EndEvent(99.0, {"even": 0})]


def publish(at, number, k=2, timeout=10.0):
    return PublishEvent(at, "p0", number, {"k": k}, timeout)


def stored(at, number, subscriptions=1):
    return ReceiptEvent(at, "p0", number, "stored", subscriptions)


def receive(at, offset, number, client="c0", deliveries=1):
    return ReceiveEvent(at, client, "even", offset, deliveries, "p0", number)


def acknowledge(at, offset, client="c0"):
    return AcknowledgeEvent(at, client, "even", offset)


def violations(*events, begin=SUBSCRIBED, end=END):
    return {kind: len(each) for kind, each in check_record([*begin, *events, *end]).violations.items()}


ONE = (publish(3, 1), stored(3.1, 1), receive(3.2, 1, 1), acknowledge(3.2, 1))


def test_a_history_in_which_all_promises_are_kept_passes():
    check = check_record([*SUBSCRIBED, *ONE, publish(4, 2, k=1), stored(4.1, 2, 0), *END])
    assert check.is_good
    assert +check.counts == {"published": 2, "stored": 2, "due": 1, "received": 1}


def test_a_message_with_a_receipt_that_nobody_received_is_lost():
    assert violations(publish(3, 1), stored(3.1, 1)) == {"lost": 1}
    assert violations(publish(3, 1), stored(3.1, 1, 0), receive(3.2, 1, 1)) == {"lost": 1}  # it counts too few


@pytest.mark.parametrize("outcome", ["silent", "refused"])
def test_a_message_without_a_receipt_may_be_lost(outcome):
    full = FaultEvent(2.5, "r1", "full disk")
    assert violations(full, publish(3, 1), ReceiptEvent(13, "p0", 1, outcome, 0)) == {}


def test_a_message_published_before_all_routers_have_confirmed_may_be_lost():
    before = [*SUBSCRIBED[:2], publish(1.5, 1), stored(1.6, 1, 0)]
    assert violations(begin=before) == {}
    some = [*SUBSCRIBED[:2], ConfirmEvent(2.0, "even", routers=2), publish(3, 1), stored(3.1, 1, 0)]
    assert violations(begin=some) == {}


def test_what_was_not_published_or_does_not_match_is_spurious():
    assert violations(receive(3.2, 1, 1)) == {"spurious": 1}
    assert violations(publish(3, 1, k=1), stored(3.1, 1, 0), receive(3.2, 1, 1)) == {"spurious": 1}
    unknown = ReceiveEvent(3.2, "c9", "none", 1, 1, "p0", 1)
    assert violations(*ONE, unknown) == {"spurious": 1}


def test_a_message_at_two_offsets_and_two_messages_at_one_are_found():
    assert violations(*ONE, receive(3.3, 2, 1)) == {"stored twice": 1}
    two = (publish(3, 2), stored(3.1, 2), receive(3.3, 1, 2))
    assert violations(*ONE, *two) == {"stored twice": 1, "lost": 1}


def test_a_message_that_was_not_acknowledged_in_time_may_come_again():
    again = (*ONE[:3], receive(6.2, 1, 1, deliveries=2))
    assert violations(*again) == {}
    assert violations(*ONE[:3], receive(5.0, 1, 1, deliveries=2)) == {"repeated": 1}  # the time is not over


def test_a_message_that_was_acknowledged_comes_again_only_after_a_fault_of_its_home_or_client():
    again = receive(7, 1, 1)
    assert violations(*ONE, again) == {"repeated": 1}
    assert violations(*ONE, FaultEvent(5, "r2", "kill"), again) == {"repeated": 1}
    assert violations(*ONE, FaultEvent(5, "r1", "kill"), again) == {}
    assert violations(*ONE, FaultEvent(5, "c0", "disconnect"), again) == {}


def test_offsets_are_in_the_order_of_publishing():
    two = (publish(3, 1), publish(3, 2), stored(3.1, 1), stored(3.1, 2))
    assert violations(*two, receive(3.2, 1, 1), receive(3.2, 2, 2)) == {}
    assert violations(*two, receive(3.2, 1, 2), receive(3.2, 2, 1)) == {"order": 1}


def test_a_client_receives_in_order_what_is_not_sent_again():
    two = (publish(3, 1), publish(3, 2), stored(3.1, 1), stored(3.1, 2), receive(3.2, 2, 2))
    assert violations(*two, receive(3.3, 1, 1)) == {"order": 1}
    assert violations(*two, receive(3.3, 1, 1, deliveries=2)) == {}
    assert violations(*two, FaultEvent(3.25, "r1", "kill"), receive(8, 1, 1)) == {}
    assert violations(*two, receive(3.3, 1, 1, client="c1")) == {}


def test_every_publisher_gets_an_answer_in_time():
    assert violations(publish(3, 1)) == {"unanswered": 1}
    assert violations(publish(3, 1), ReceiptEvent(15, "p0", 1, "silent", 0)) == {"unanswered": 1}
    late = (HealEvent(20), publish(25, 1, timeout=30), ReceiptEvent(55, "p0", 1, "silent", 0))
    assert violations(*late) == {"unanswered": 1}  # all works since 35
    jump = FaultEvent(30, "r0", "clock jump")  # by which the timeout is over
    assert violations(*late[:2], jump, late[2]) == {}
    assert violations(publish(85, 1, timeout=10), ReceiptEvent(95, "p0", 1, "silent", 0)) == {}


def test_only_a_full_disk_refuses():
    refused = ReceiptEvent(50.1, "p0", 1, "refused", 0, "r1: …")
    assert violations(publish(50, 1), refused) == {"refused": 1}
    freed = (FaultEvent(10, "r1", "full disk"), FaultEvent(20, "r1", "full disk", is_end=True))
    assert violations(*freed, publish(50, 1), refused) == {"refused": 1}
    assert violations(freed[0], publish(50, 1), refused) == {}
    jump = FaultEvent(50.05, "r0", "clock jump")  # or a router whose clock says that the timeout is over
    assert violations(publish(50, 1), jump, refused) == {}
    assert violations(jump, publish(50.06, 1), refused) == {"refused": 1}
    some = [*SUBSCRIBED[:2], ConfirmEvent(2.0, "even", routers=2)]  # or a home that a router does not know
    assert violations(publish(50, 1), refused, begin=some) == {}


def test_what_is_left_at_the_end_is_found():
    assert violations(*ONE, end=[EndEvent(99.0, {"even": 2})]) == {"waiting": 1}
    assert violations(*ONE, end=[]) == {"waiting": 1}
    assert check_record([]).violations == {"waiting": ["the record has no beginning"]}


# --- full subscriptions of other accounts

FULL = [
    *SUBSCRIBED,
    SubscribeEvent(1.0, "c1", "full", "r2", "k in (0, 2, 4)", ack_wait=3.0, limit=1),
    ConfirmEvent(2.0, "full", routers=3),
]
REFUSED = ReceiptEvent(3.1, "p0", 1, "stored", 1, others={"r2": 1})
REPORTED = LostEvent(3.2, "c1", "full", 1, "")


def test_a_full_subscription_of_another_account_may_lack_what_the_receipt_counts():
    assert violations(*ONE[:1], REFUSED, *ONE[2:], REPORTED, begin=FULL) == {}


def test_a_full_subscription_must_learn_of_its_loss():
    assert violations(*ONE[:1], REFUSED, *ONE[2:], begin=FULL) == {"lost": 1}


@pytest.mark.parametrize("others", [{}, {"r1": 1}])
def test_a_receipt_must_count_the_full_subscriptions_that_lack_a_message(others):
    receipt = ReceiptEvent(3.1, "p0", 1, "stored", 2 - len(others), others=others)
    found = violations(*ONE[:1], receipt, *ONE[2:], REPORTED, begin=FULL)
    assert found == {"lost": 1, **({"refused": 1} if others else {})}


def test_a_receipt_must_not_count_a_refusal_of_a_subscription_that_has_the_message():
    has_it = ReceiveEvent(3.2, "c1", "full", 1, 1, "p0", 1)
    assert violations(*ONE[:1], REFUSED, *ONE[2:], has_it, begin=FULL) == {"refused": 1}


def test_a_full_subscription_of_another_account_is_no_reason_to_refuse_a_message():
    refused = ReceiptEvent(3.1, "p0", 1, "refused", 0, "full")
    assert violations(*ONE[:1], refused, begin=FULL) == {"refused": 1}
