"""Runs read from bytes: the same messages, and the same matches, as those of decoded frames."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbnet import parse
from cbnet._kernels.durable_run import RunReader
from cbnet._kernels.frame_matching import LiveMatcher
from cbnet._kernels.link_output import LinkOutput
from cbnet._kernels.route_table import LinkPlaces
from cbnet.matching import LiveTable, Table
from cbnet.network.protocol.frames import DurablePublish
from cbnet.network.protocol.wire import FrameReader, encode
from cbnet.network.security.rights import Rights

FILTERS = {3: parse("x > 1"), 8: parse('y = "b" and x > 0'), 9: parse("#t")}
HOMES = {0: parse("x > 1 or #t"), 1: parse("x > 3")}
MOST = 1 << 20  # bytes of a frame

attributes = st.dictionaries(
    st.sampled_from(["x", "y", "z"]), st.sampled_from([0, 1, 2, 4, -1, 0.5, "b", True, None, [1, 5]]), max_size=3
)
steps = st.lists(
    st.tuples(st.sampled_from([1, 1, 1, 1, 2, 0]), attributes, st.sampled_from([[], ["t"]]), st.binary(max_size=9)),
    min_size=1,
    max_size=20,
)


def table(predicates):
    return LiveTable(Table.build(predicates))


def reader(publish=None):
    """Return a reader of runs with a client at link 5, and the tables that it matches."""
    links = LinkPlaces()
    links.open(5, LinkOutput(MOST, MOST))
    links.admit_client(5, MOST, -1, Rights(publish=publish).publish_matcher())
    tables = table(FILTERS), table(HOMES)
    return RunReader(links, *map(LiveMatcher, tables)), tables


def frames_of(steps, publisher=7):
    """Return frames whose numbers increase by the first member of each step."""
    number, frames = 1, []
    for step, members, tags, payload in steps:
        number += step
        frames.append(DurablePublish(publisher, number, max(1, number - 5), 3.0, members, tags, payload, []))
    return frames


def is_plain(frame):
    return not any(isinstance(value, list) for value in frame.attributes.values())


def matches(table, frame):
    return sorted(table.match({**frame.attributes, "#": frame.tags} if frame.tags else frame.attributes))


@given(steps, st.integers(1, 30))
def test_a_run_has_the_plain_messages_with_consecutive_numbers(steps, most):
    frames = frames_of(steps)
    data = b"".join(map(encode, frames))
    runs, (filters, homes) = reader()
    found = runs.read(5, data, 0, len(data), most)
    expected = []
    for frame in frames[:most]:
        if not is_plain(frame) or (expected and frame.sequence != expected[-1].sequence + 1):
            break
        expected.append(frame)
    if not expected:
        assert found is None
        return
    end, publisher, first, floor, timeout, required, kinds, contents = found
    assert end == sum(len(encode(frame)) for frame in expected)
    assert (publisher, first, timeout, required) == (7, expected[0].sequence, 3.0, [])
    assert floor == max(frame.floor for frame in expected)
    decoded = [msgspec.msgpack.decode(content) for content in contents]
    assert decoded == [[frame.attributes, frame.tags, frame.payload] for frame in expected]
    for kind, frame in zip(kinds, expected, strict=True):
        assert [sorted(each) for each in runs.slots[kind]] == [matches(filters, frame), matches(homes, frame)]
    again = runs.match(contents)
    assert [sorted(runs.slots[kind][0]) for kind in again] == [matches(filters, frame) for frame in expected]
    assert runs.slots[again[0]][1] is None  # homes are not looked up


@given(steps, st.data())
def test_damaged_bytes_are_read_as_decoded_frames_or_left_alone(steps, data):
    frame = bytearray(b"".join(map(encode, frames_of(steps))))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(frame) - 1))
        frame[at] = data.draw(st.integers(0, 255))
    runs, _ = reader()
    found = runs.read(5, bytes(frame), 0, len(frame), 100)
    if found is not None:
        end, publisher, first, _, _, required, kinds, contents = found
        decoder = FrameReader()
        decoder.is_first, decoder.max_length = False, MOST
        decoded = list(decoder.feed(bytes(frame[:end])))
        assert [each.sequence for each in decoded] == [*range(first, first + len(contents))]
        assert {each.publisher for each in decoded} == {publisher}
        assert {each.required is None for each in decoded} == {required is None}
        for each, content in zip(decoded, contents, strict=True):
            assert msgspec.msgpack.decode(content) == [each.attributes, each.tags, each.payload]
        assert len(kinds) == len(contents)


@pytest.mark.parametrize(
    "content", [b"", b"\x93", b"\x93\x80\x90", b"\x92\x80\x90\xc4\x00", b"\x93\x80\x90\xc4\x00\x00"]
)
def test_contents_that_are_not_whole_messages_are_left_alone(content):
    runs, _ = reader()
    whole = b"\x93\x81\xa1x\x02\x90\xc4\x00"
    assert runs.match([whole, content]) is None
    assert len(runs.match([whole, whole])) == 2


def test_a_run_ends_before_a_message_that_its_client_may_not_publish():
    runs, _ = reader(parse("x < 3"))
    frames = frames_of([(1, {"x": x}, [], b"") for x in (1, 2, 4, 1)])
    data = b"".join(map(encode, frames))
    end, *_, contents = runs.read(5, data, 0, len(data), 100)
    assert len(contents) == 2
    assert runs.read(5, data, end, len(data), 100) is None


def test_frames_of_version_4_have_no_required_names():
    runs, _ = reader()
    members = msgspec.msgpack.decode(encode(DurablePublish(7, 1, 1, 3.0, {"x": 1}, [], b""))[4:])[:-1]
    body = msgspec.msgpack.encode(members)
    data = len(body).to_bytes(4) + body
    assert runs.read(5, data, 0, len(data), 9)[5] is None
    assert runs.read(6, data, 0, len(data), 9) is None  # there is no such link
