"""When changes of streams are acknowledged."""

from cbnet.network.announce.streams import Incoming, Outgoing
from cbnet.network.forwarding.forwarding_table import SideKey

KEY = SideKey("b", 1, b"k")


def outgoing(number=1, **changes):
    stream = Outgoing(KEY, number, ())
    for name, value in changes.items():
        setattr(stream, name, value)
    return stream


def incoming(*log):
    """Return a stream whose changes 1, 2, … need these sequence numbers."""
    stream = Incoming(KEY, 1)
    for sequence, needs in enumerate(log, 1):
        stream.sequence = sequence
        stream.record(needs, 0.0)
    return stream


def test_stream_is_open_from_its_first_whole_change():
    assert not Incoming(KEY, 1).is_open
    assert incoming({}).is_open


def test_change_that_feeds_nothing_is_acknowledged_at_once():
    assert incoming({}, {}).acknowledged() == 2


def test_change_is_acknowledged_when_all_that_it_feeds_are():
    one, other = outgoing(1), outgoing(2)
    stream = incoming({one: 1, other: 1}, {one: 2, other: 1})
    assert stream.acknowledged() == 0
    one.acknowledge(2, 0, 7)
    assert stream.acknowledged() == 0
    other.acknowledge(1, 0, 7)
    assert stream.acknowledged() == 2


def test_a_later_change_is_not_acknowledged_before_an_earlier_one():
    one, other = outgoing(1, acked=5), outgoing(2)
    assert incoming({one: 1}, {one: 2, other: 3}, {one: 3, other: 3}).acknowledged() == 1


def test_an_ended_stream_needs_no_acknowledgement():
    gone = outgoing(is_open=False)
    assert gone.has(9)
    assert incoming({gone: 9}).acknowledged() == 1
    assert not gone.is_stamped(7, 1)


def test_acknowledgement_is_never_taken_back():
    stream = outgoing()
    stream.acknowledge(5, 0, 7)
    stream.acknowledge(3, 0, 7)
    assert (stream.has(5), stream.has(6)) == (True, False)
    stream.acknowledge(5, 7, 7)
    stream.acknowledge(3, 7, 7)
    assert (stream.is_stamped(7, 5), stream.is_stamped(7, 6)) == (True, False)


def test_stamp_counts_for_its_version_only():
    stream = outgoing()
    stream.acknowledge(5, 7, newest=7)
    assert (stream.is_stamped(7, 5), stream.is_stamped(8, 1)) == (True, False)
    assert not stream.has(1)  # a stamp is no acknowledgement of the streams that exist
    stream.acknowledge(6, 8, newest=8)
    assert (stream.is_stamped(7, 1), stream.is_stamped(8, 6)) == (False, True)


def test_a_stream_must_be_opened_before_it_is_stamped():
    assert not outgoing().is_stamped(7, 0)


def test_stampable_needs_all_streams_beyond_even_those_that_a_change_did_not_reach():
    one, other = outgoing(1), outgoing(2)
    stream = incoming({one: 1, other: 1}, {one: 2, other: 1})
    assert stream.stampable(7, [one, other]) == 0
    one.acknowledge(2, 7, 7)
    assert stream.stampable(7, [one, other]) == 0
    other.acknowledge(1, 7, 7)
    assert stream.stampable(7, [one, other]) == 2
    assert stream.stampable(8, [one, other]) == 0
    assert stream.stampable(8, []) == 2  # a leaf


def test_stream_opened_after_a_change_is_needed_for_its_stamp_with_its_opening():
    late = outgoing(3)
    stream = incoming({})
    assert stream.stampable(7, [late]) == 0
    late.acknowledge(1, 7, 7)
    assert stream.stampable(7, [late]) == 1


def test_long_log_is_shortened_and_later_changes_stand_for_earlier_ones():
    slow = outgoing()
    stream = incoming(*({slow: sequence} for sequence in range(1, 1_001)))
    assert len(stream.log) <= 64
    assert stream.acknowledged() == 0
    slow.acknowledge(1_000, 0, 7)
    assert stream.acknowledged() == 1_000


def test_filters_announced_are_remembered_until_they_are_settled():
    many = {(0, str(number).encode()): 2 for number in range(100)}
    stream = outgoing(sequence=3, since={**many, (1, b"f"): 3})
    stream.stamped[7] = 3
    stream.acknowledge(2, 0, 7)
    assert (stream.settled, stream.since) == (2, {(1, b"f"): 3})


def test_oldest_change_stays_until_it_is_acknowledged_however_many_follow():
    one = outgoing()
    stream = incoming(*({one: number} for number in range(1, 1001)))
    assert len(stream.log) <= 64
    one.acknowledge(1, 0, 7)
    assert stream.acknowledged() == 1
    one.acknowledge(1000, 0, 7)
    assert stream.acknowledged() == 1000
