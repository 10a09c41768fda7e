"""Changes of streams come back from their frames, in however many parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memory_networks import hello

from cbnet.language.syntax.byte_form import predicate_to_bytes
from cbnet.network.announce import announce_writer
from cbnet.network.announce.announce_writer import Change, announce_frames, divided, read_change
from cbnet.network.protocol.frames import Announce, StreamChange
from cbnet.network.protocol.wire import MAX_ROUTER_FRAME_BYTES, FrameReader, encode
from cbnet.routing.aggregation.aggregation import Difference

NONE = Difference([], [])
SMALL = 3  # filters of a change
_FILTERS = st.lists(st.binary(min_size=1, max_size=6), unique=True, max_size=8)


@st.composite
def differences(draw):
    added = draw(_FILTERS)
    removed = draw(_FILTERS)
    return Difference(added, [each for each in removed if each not in added])


@st.composite
def changes(draw):
    """Return changes of several streams; some open them."""
    all_changes = []
    for number in range(1, draw(st.integers(1, 7))):
        both = draw(differences()), draw(differences())
        opens = draw(st.booleans())
        all_changes.append(
            Change(number, 1, both, b"k" * 16, draw(st.integers(0, 3))) if opens else Change(number, 7, both)
        )
    return all_changes


def collected(frames):
    """Return the whole changes and the ends of streams, as a receiver collects them; parts of a change are in order."""
    parts, whole, ended = {}, [], []
    for frame in frames:
        for change in frame.changes:
            lists = parts.setdefault((change.number, change.sequence), ([], [], [], []))
            for own, (added, removed) in zip((lists[:2], lists[2:]), read_change(frame, change), strict=True):
                own[0].extend(added)
                own[1].extend(removed)
            if change.is_last:
                subscriptions, offers = Difference(*lists[:2]), Difference(*lists[2:])
                whole.append(Change(change.number, change.sequence, (subscriptions, offers), change.side, change.base))
        ended += frame.ended
    return whole, ended


@given(changes(), st.lists(st.integers(1, 99), max_size=9), st.integers(1, 5), st.integers(9, 30), st.integers(1, 4))
def test_any_changes_come_back_in_parts_of_any_size(all_changes, ended, most_filters, most_bytes, most_streams):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(announce_writer, "MAX_FRAME_FILTERS", most_filters)
        patch.setattr(announce_writer, "MAX_PART_BYTES", most_bytes)
        patch.setattr(announce_writer, "MAX_FRAME_STREAMS", most_streams)
        frames = list(announce_frames(all_changes, ended))
    assert collected(frames) == (all_changes, ended)
    for frame in frames:
        assert max(len(frame.filters), len(frame.offers)) <= most_filters
        assert sum(map(len, frame.filters + frame.offers)) <= most_bytes
        assert max(len(frame.changes), len(frame.ended)) <= most_streams
        assert len(set(frame.filters)) == len(frame.filters)
        reader = FrameReader()
        assert list(reader.feed(encode(hello("router", "a")) + encode(frame)))[1:] == [frame]


def test_a_filter_that_several_streams_need_is_sent_once():
    difference = Difference([b"f", b"g"], []), Difference([b"f"], [])
    (frame,) = announce_frames([Change(number, 1, difference, b"k" * 16) for number in (1, 2, 3)])
    assert (frame.filters, frame.offers) == ([b"f", b"g"], [b"f"])
    assert [change.added for change in frame.changes] == [[0, 1, 2]] * 3


def test_very_many_streams_with_the_same_filters_do_not_make_a_frame_too_long():
    filters = [number.to_bytes(4, "big") for number in range(4_000)]
    changes = [Change(number, 1, (Difference(filters, []), Difference([], [])), b"k" * 16) for number in range(1, 401)]
    frames = list(announce_frames(changes))
    assert max(len(encode(frame)) for frame in frames) < MAX_ROUTER_FRAME_BYTES
    assert len(collected(frames)[0]) == 400


def test_nothing_to_say_is_no_frame():
    assert list(announce_frames([], [])) == []


@pytest.mark.parametrize("index", [2, 99])
def test_filter_that_is_not_in_the_frame_is_an_error(index):
    change = StreamChange(number=1, sequence=1, side=b"", base=0, added=[index], removed=[], is_last=True)
    with pytest.raises(IndexError):
        read_change(Announce([b"f"], [b"o"], [change], []), change)


def test_filters_with_conditions_are_spread_over_more_frames():
    def frames(predicate):
        filters = predicate_to_bytes(predicate)
        return [len(frame.filters) for frame in announce_frames([Change(1, 7, (Difference(filters, []), NONE))])]

    assert frames(" or ".join(f"x = {n}" for n in range(100, 600))) == [500]
    # [["length(x) > 100"]] takes 18 bytes and counts as 360, with 3 for its index: 90 of them are below 32,768
    assert frames(" or ".join(f"length(x) > {n}" for n in range(100, 500))) == [90, 90, 90, 90, 40]
    long = "x" * 16_000
    assert frames(f'lower(x) = "{long}" or lower(y) = "{long}"') == [1, 1]


@given(differences(), differences())
def test_a_divided_change_adds_all_filters_before_it_removes_others(subscriptions, offers):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(announce_writer, "MAX_CHANGE", SMALL)
        found = [*divided(subscriptions, offers)]
    assert all(1 <= sum(map(len, (*one, *other))) <= SMALL for one, other in found) or found == [(NONE, NONE)]
    if len(found) > 1:
        is_removal = [bool(one.removed or other.removed) for one, other in found]
        assert is_removal == sorted(is_removal)
        assert not any((one.added or other.added) and (one.removed or other.removed) for one, other in found)
    for kind, whole in enumerate((subscriptions, offers)):
        assert [each for pair in found for each in pair[kind].added] == whole.added
        assert [each for pair in found for each in pair[kind].removed] == whole.removed
