"""The check of logs and of subscriptions from the past, with histories written by hand."""

import pytest

from cbnet_lab.faults.check.checker import check_record
from cbnet_lab.faults.record import (
    BeginEvent,
    ConfirmEvent,
    EndEvent,
    FaultEvent,
    HealEvent,
    KeptEvent,
    LostEvent,
    PublishEvent,
    ReceiptEvent,
    ReceiveEvent,
    ReplayEvent,
    SubscribeEvent,
)

# Messages 1 to 4 of p0 have the offsets 2 to 5 of the log of r1; 2 does not match the subscriptions.
PUBLISHED = [PublishEvent(float(n), "p0", n, {"k": int(n != 2)}, 10.0) for n in (1, 2, 3, 4)]
STORED = [ReceiptEvent(n + 0.1, "p0", n, "stored", 0) for n in (1, 2, 3, 4)]
KEPT = KeptEvent(60.0, "r1", "k >= 0", 1, [(n + 1, "p0", n) for n in (1, 2, 3, 4)])
BOUNDED = KeptEvent(60.0, "r1", "k >= 0", 5, [(5, "p0", 4)])  # the others were dropped


def subscribe(kind="replay", age=1e9, at=5.0):
    return SubscribeEvent(at, "c0", "ones", "r1", "k = 1", 3.0, kind, age)


def replay(offset, at=5.1):
    return ReplayEvent(at, "c0", "ones", offset)


def receive(offset, number, at=6.0):
    return ReceiveEvent(at, "c0", "ones", offset, 1, "p0", number)


def lost(messages=0):
    return LostEvent(6.0, "c0", "ones", messages, "dropped")


def check(*events, kept=KEPT, published=(*PUBLISHED, *STORED)):
    begin = BeginEvent(0.0, routers=1, slack=0.5, recovery=15.0)
    return check_record([begin, *published, *events, HealEvent(40.0), kept, EndEvent(60.0, {})])


def violations(*events, **options):
    return {kind: len(each) for kind, each in check(*events, **options).violations.items()}


ALL = (receive(2, 1), receive(4, 3), receive(5, 4))


def test_a_replay_that_receives_what_matches_from_its_start_on_passes():
    found = check(subscribe(), replay(1), *ALL)
    assert found.is_good
    assert (found.counts["replayed"], found.counts["received"]) == (3, 3)


def test_a_message_that_is_missing_in_a_replay_is_a_gap():
    assert violations(subscribe(), replay(1), ALL[0], ALL[2]) == {"gap": 1}
    assert violations(subscribe(), replay(1), *ALL[:2]) == {"gap": 1}
    assert violations(subscribe(), replay(1), ALL[0], lost(), ALL[2]) == {"gap": 1}  # it was not dropped


def test_what_was_dropped_from_a_log_is_missing_only_where_that_is_told():
    other = (SubscribeEvent(5.0, "c1", "other", "r1", "k = 1", 3.0, "replay", 1e9), ReplayEvent(5.1, "c1", "other", 1))
    known = [ReceiveEvent(6.0, "c1", "other", each.offset, 1, "p0", each.number) for each in ALL]
    mine = (*other, *known, subscribe(), replay(1))
    assert violations(*mine, ALL[0], lost(1), ALL[2], kept=BOUNDED) == {}
    assert violations(*mine, ALL[0], ALL[2], kept=BOUNDED) == {"gap": 1}
    assert violations(*mine, ALL[0], ALL[2], lost(1), kept=BOUNDED) == {"gap": 1}  # at another place


def test_nothing_comes_twice_or_in_another_order_in_a_replay():
    crash = FaultEvent(6.0, "r1", "kill")
    assert violations(subscribe(), replay(1), ALL[0], crash, replay(2), *ALL) == {"repeated": 1}
    assert violations(subscribe(), replay(1), ALL[0], ALL[2], ALL[1]) == {"order": 1, "gap": 1}


def test_what_does_not_match_or_is_before_the_start_is_spurious():
    assert violations(subscribe(), replay(1), ALL[0], receive(3, 2), *ALL[1:]) == {"spurious": 1}
    assert violations(subscribe(age=None), replay(4), *ALL) == {"spurious": 1}


def test_a_replay_begins_with_what_was_stored_since():
    late = (*ALL[1:],)
    assert violations(subscribe(age=1.0), replay(4), *late) == {}  # 1 was published 4 s before
    assert violations(subscribe(age=4.5), replay(4), *late) == {"gap": 1}
    assert violations(subscribe(), kept=KEPT) == {"unanswered": 1}


def test_a_replay_goes_on_after_an_interruption():
    crash = FaultEvent(6.0, "r1", "kill")
    assert violations(subscribe(), replay(1), ALL[0], crash, replay(3), *ALL[1:]) == {}
    assert violations(subscribe(), replay(1), ALL[0], crash, replay(5), ALL[2]) == {"gap": 1}


def test_a_log_has_each_message_with_a_receipt_once_and_in_order():
    messages = KEPT.messages
    missing, twice, swapped = messages[1:], [*messages, (6, "p0", 4)], [(2, "p0", 2), (3, "p0", 1), *messages[2:]]
    assert violations(kept=KeptEvent(60.0, "r1", "k >= 0", 1, missing)) == {"lost": 1}
    assert violations(kept=KeptEvent(60.0, "r1", "k = 0", 1, messages[1:2])) == {}
    assert violations(kept=KeptEvent(60.0, "r1", "k >= 0", 1, twice)) == {"stored twice": 1}
    assert violations(kept=KeptEvent(60.0, "r1", "k >= 0", 1, swapped)) == {"order": 1}


def test_an_offset_of_a_log_has_one_message():
    assert violations(subscribe(), replay(1), receive(2, 3), *ALL[1:]) == {"stored twice": 1}


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        ([1, 3, 4], {}),
        ([1, 4], {"gap": 1}),
        ([1, 3], {"gap": 1}),
        ([1, 4, 3], {"order": 2}),  # of its offsets, and beside the log
        ([1, 3, 4, 3], {"stored twice": 1, "order": 1}),
        ([1, 2, 3, 4], {"spurious": 1}),
    ],
)
def test_a_durable_subscription_from_the_past_has_what_a_replay_would_have(received, expected):
    events = [receive(offset, number) for offset, number in enumerate(received, 1)]
    assert violations(subscribe("durable"), replay(1), *events) == expected


def test_a_durable_subscription_begins_at_its_start():
    later = (receive(1, 3), receive(2, 4))
    assert violations(subscribe("durable"), replay(3), *later) == {}
    assert violations(subscribe("durable"), replay(2), *later) == {"gap": 1}
    assert violations(subscribe("durable"), replay(5), *later) == {"spurious": 1}


def test_a_durable_subscription_that_a_crash_may_have_undone_begins_anywhere():
    later, crash = (receive(1, 3), receive(2, 4)), FaultEvent(5.2, "r1", "kill")
    assert violations(subscribe("durable"), replay(2), crash, *later) == {}
    confirmed = ConfirmEvent(5.15, "ones", 1)
    assert violations(subscribe("durable"), replay(2), confirmed, crash, *later) == {"gap": 1}


def test_receipts_need_not_count_a_durable_subscription_that_may_still_read_the_log():
    before = (subscribe("durable", at=0.1), replay(1, at=0.2), ConfirmEvent(0.3, "ones", 1), *PUBLISHED, *STORED)
    messages = (receive(1, 1), receive(2, 3), receive(3, 4))
    assert violations(*messages, published=before) == {}
    assert violations(*messages[:2], published=before) == {"lost": 1, "gap": 1}
