"""The check of plain subscriptions, with histories written by hand."""

from cbnet_lab.faults.check.checker import check_record
from cbnet_lab.faults.record import (
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

BEGIN = [
    BeginEvent(0.0, routers=2, slack=0.5, recovery=15.0),
    SubscribeEvent(1.0, "c0", "ones", "r1", "k = 1", 3.0, "plain"),
    ConfirmEvent(2.0, "ones", 2),
]
TOLD = LostEvent(30.0, "c0", "ones", 0, "r2 cannot be reached")


def publish(number, at, k=1):
    return [PublishEvent(at, "p0", number, {"k": k}, 10.0), ReceiptEvent(at + 0.1, "p0", number, "stored", 0)]


def receive(number, at):
    return ReceiveEvent(at, "c0", "ones", 0, 1, "p0", number)


def fault(of, at, kind="kill"):
    return FaultEvent(at, of, kind)


def violations(*events, heal=80.0):
    ends = [HealEvent(heal), EndEvent(99.0, {})]
    done = sorted([*BEGIN, *events, *ends], key=lambda event: event.at)
    return {kind: len(each) for kind, each in check_record(done).violations.items()}


def test_while_nothing_fails_each_message_arrives_once_and_in_order():
    two = [*publish(1, 3), *publish(2, 4), *publish(3, 5, k=0)]
    assert violations(*two, receive(1, 3.1), receive(2, 4.1)) == {}
    assert violations(*two, receive(1, 3.1)) == {"lost": 1}
    assert violations(*two, receive(2, 4.1), receive(1, 4.2)) == {"order": 1}
    assert violations(*two, receive(1, 3.1), receive(2, 4.1), receive(2, 4.2)) == {"repeated": 1}
    assert violations(*two, receive(1, 3.1), receive(2, 4.1), receive(3, 5.1)) == {"spurious": 1}


def test_a_message_before_the_confirmation_may_be_missed():
    assert violations(*publish(1, 1.5)) == {}


def test_under_faults_messages_may_change_their_order_or_be_lost_if_that_is_told():
    two, cut = [*publish(1, 11), *publish(2, 12)], fault("r1-r2", 10, "cut")
    assert violations(cut, *two, receive(2, 12.1), receive(1, 12.2)) == {}
    assert violations(cut, *two, receive(2, 12.1), TOLD) == {}
    assert violations(cut, *two, receive(2, 12.1)) == {"gap": 1}


def test_a_subscriber_that_fails_or_whose_router_fails_is_told_by_its_connection():
    for part in ("c0", "r1"):
        assert violations(fault(part, 11.5), *publish(1, 11)) == {}
    assert violations(fault("r2", 11.5), *publish(1, 11)) == {"gap": 1}


def test_when_all_is_mended_messages_arrive_again():
    cut = fault("r1-r2", 10, "cut")
    assert violations(cut, TOLD, *publish(1, 60), heal=40.0) == {"lost": 1}
    two = [*publish(1, 60), *publish(2, 61)]
    assert violations(cut, *two, receive(2, 61.1), receive(1, 61.2), heal=40.0) == {"order": 1}


def test_a_notice_of_loss_has_a_cause():
    assert violations(TOLD) == {"spurious": 1}
    assert violations(fault("r2", 20), TOLD) == {}


def test_a_message_comes_again_only_if_it_was_published_over_two_routers_and_the_subscriber_s_router_has_restarted():
    once, again = [*publish(1, 11), receive(1, 11.1)], receive(1, 30)
    restart, move = fault("r1", 20), fault("p0", 21, "move")
    assert violations(*once, restart, again) == {"repeated": 1}
    assert violations(*once, move, again) == {"repeated": 1}
    assert violations(*once, restart, move, again) == {}


def test_messages_that_may_come_again_do_so_in_any_order():
    """Both had no receipt when the faults began, so the publisher sends them again."""
    sent = [PublishEvent(11.0, "p0", number, {"k": 1}, 30.0) for number in (1, 2)]
    once = [receive(1, 11.1), receive(2, 11.2), fault("r1", 20), fault("p0", 21, "move")]
    again = [receive(1, 30), receive(2, 30.1), *(ReceiptEvent(31.0, "p0", number, "stored", 0) for number in (1, 2))]
    assert violations(*sent, *once, *again) == {}
    late = [receive(2, 11.1), receive(1, 11.2), *once[2:]]
    assert violations(*sent, *late, *again) == {"order": 1}
