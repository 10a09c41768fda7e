"""Hostile bytes and frames: they close their own link, with a reason, and nothing else happens."""

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.memory_networks import Alone, Lab, hello, sent, shut

from cbnet import parse_filter
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.network.protocol import frames
from cbnet.network.protocol.frames import (
    Close,
    Deliver,
    DurableMark,
    Hello,
    LinkField,
    LinkRecord,
    Packet,
    Publish,
    Subscribe,
    TraceMark,
)
from cbnet.network.protocol.wire import FrameReader, WireError, encode

# --- frames made from their own types, with names and filters that mean something

_NAMES = st.sampled_from(["a", "b", "c", "d", "x", "12", "é"])
_FILTERS = [
    filter_to_bytes(parse_filter(text))
    for text in ("x = 1", "x > 0 and #t", "true", "b = false", "x in (1, null)", "x < b and a.b = null", "absent x")
]
_TEXTS = st.sampled_from(["", "a", "b", "c", "x = 1", "x <", "true", "#", "é", "x < b", "a.b"]) | st.text(max_size=5)
_NESTED = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)


def made(kind):
    """Return a strategy for what a type allows."""
    match kind:
        case msgspec.inspect.BoolType():
            return st.booleans()
        case msgspec.inspect.IntType():
            low = kind.ge if kind.ge is not None else -(2**63)
            high = kind.le if kind.le is not None else 2**63 - 1 if kind.lt is None else kind.lt - 1
            return st.integers(low, min(high, low + 5)) | st.integers(low, high)
        case msgspec.inspect.FloatType():
            low = kind.gt if kind.ge is None else kind.ge
            return st.floats(low, kind.le, exclude_min=kind.gt is not None, allow_nan=False, allow_infinity=False)
        case msgspec.inspect.StrType():
            return _NAMES if kind.min_length else _TEXTS
        case msgspec.inspect.BytesType():
            if kind.min_length:
                return st.binary(min_size=kind.min_length, max_size=kind.max_length)
            return st.sampled_from([each for each in _FILTERS if len(each) <= kind.max_length]) | st.binary(max_size=8)
        case msgspec.inspect.AnyType():
            return _NESTED
        case msgspec.inspect.NoneType():
            return st.none()
        case msgspec.inspect.LiteralType():
            return st.sampled_from(kind.values)
        case msgspec.inspect.ListType():
            return st.lists(made(kind.item_type), min_size=kind.min_length or 0, max_size=3)
        case msgspec.inspect.TupleType():
            return st.tuples(*map(made, kind.item_types))
        case msgspec.inspect.DictType():
            return st.dictionaries(made(kind.key_type), made(kind.value_type), max_size=3)
        case msgspec.inspect.UnionType():
            return st.one_of(map(made, kind.types))
        case msgspec.inspect.StructType():
            return st.builds(kind.cls, **{field.name: made(field.type) for field in kind.fields})
    raise AssertionError(kind)


KINDS = list(frames.FRAMES)
any_frames = st.one_of([made(msgspec.inspect.type_info(kind)) for kind in KINDS])


@given(st.sampled_from(KINDS).flatmap(lambda kind: made(msgspec.inspect.type_info(kind))))
def test_every_frame_that_the_types_allow_comes_back(frame):
    reader = FrameReader()
    assert list(reader.feed(encode(hello("router", "a")) + encode(frame))) == [hello("router", "a"), frame]


@given(st.lists(any_frames, max_size=4), st.data())
def test_bytes_that_were_changed_are_frames_or_an_error_and_nothing_else(told, data):
    stream = bytearray(b"".join(map(encode, [hello("router", "a"), *told])))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(stream) - 1))
        stream[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        if not stream:
            return
    reader = FrameReader()
    try:
        for frame in reader.feed(bytes(stream)):
            assert type(frame) in KINDS
    except WireError as error:
        assert 0 < len(error.reason) <= 500


@given(st.binary(max_size=200))
def test_bytes_of_no_meaning_are_frames_or_an_error_and_nothing_else(data):
    try:
        list(FrameReader().feed(data))
    except WireError as error:
        assert error.reason


# --- one router, with a good neighbour, a good client, and somebody hostile


ROUTINGS = st.sampled_from([{"trees": 1}, {"trees": 3}, {"scheme": "pif"}])


def surrounded(role, **settings):
    alone = Alone("a", **settings)
    alone.leaf(1, "b", wants=["x = 1"])
    alone.client_link(2)
    alone.say(2, Subscribe(1, "good = 1", 0))
    if role == "router":
        alone.leaf(3, "h")
    else:
        alone.client_link(3, "h")
    alone.wait(0.2)
    return alone


@settings(max_examples=100)
@given(ROUTINGS, st.sampled_from(["router", "client"]), st.lists(any_frames, min_size=1, max_size=12))
def test_a_hostile_peer_closes_no_link_but_its_own(routing, role, told):
    alone = surrounded(role, **routing)
    for frame in told:
        done = alone.say(3, frame) + alone.wait(0.1)
        closed = shut(done)
        assert set(closed) <= {3}
        assert all(closed.values())
        for action in done:  # what is sent can be read by those who get it
            if not shut([action]):
                assert list(greeted().feed(encode(action.frame))) == [action.frame]
        if 3 in closed:
            assert alone.say(3, frame) == []
            break
    published = alone.say(2, Publish(7, {"good": 1}, [], b"", False))
    assert [frame.subscriptions for frame in sent(published, Deliver, link=2)] == [[1]]


def greeted():
    reader = FrameReader()
    list(reader.feed(encode(hello("router", "a"))))
    return reader


@given(st.lists(any_frames, min_size=1, max_size=12))
def test_a_hostile_client_changes_nothing_for_a_neighbour_but_what_it_subscribes_to(told):
    alone = surrounded("client")
    before = alone.router.version
    for frame in told:
        alone.say(3, frame)
    alone.close(3)
    alone.wait(0.2)
    assert alone.router.version is before
    assert alone.router.subscriptions.own_filters == 1
    done = alone.say(
        1,
        Packet(
            source="b", incarnation=1, number=1, hops=1, tree=0, side=alone.tree_link(1).near, tries=0,
            attributes={"good": 1}, tags=[], payload=b"",
        ),
    )  # fmt: skip
    assert len(sent(done, Deliver, link=2)) == 1


# --- a network, with bytes thrown at one of its routers


class Stranger:
    """Somebody who connects to a router and sends bytes."""

    def __init__(self, memory, router):
        self.heard = []
        self.is_closed = False
        self._memory = memory
        self._end = memory.dial(self, memory.hosts[router], 0.001)

    def throw(self, data):
        self._memory.send_bytes(self._end, data)

    def opened(self, end):
        pass

    def received_bytes(self, end, data):
        self.heard += end.reader.feed(data)

    def closed(self, _):
        self.is_closed = True


# Homes of a durable message get it in any case, though the predicate of its trace is invalid.
_TRACED = TraceMark(0, is_dry=False, predicate="x <")
_DURABLE = DurableMark(0, {"a": 0, "b": 0}, is_repeated=False)
_TRACED_AND_DURABLE = Packet("a", 0, 0, 0, 0, 0, 0, {}, [], b"", mark=_TRACED, durable=_DURABLE)


@example({"trees": 1}, [_TRACED_AND_DURABLE])
@given(ROUTINGS, st.lists(any_frames, min_size=1, max_size=12))
def test_no_router_is_blamed_for_what_it_passed_on(routing, told):
    lab = Lab("a-b b-c", **routing)
    stranger = Stranger(lab.memory, "a")
    scheme = lab.router("a").settings.routing
    linked = LinkRecord("h", 1, 1, 1, 0, {"a": LinkField(1, [1])})
    for frame in (hello("router", "h", scheme=scheme), linked, *told):
        stranger.throw(encode(frame))
        lab.run(0.3)
    assert lab.memory.frames["Close"] <= 1  # the stranger's
    assert all(lab.router(name).links.neighbours().keys() - {"h"} == near for name, near in NEAR.items())


NEAR = {"a": {"b"}, "b": {"a", "c"}, "c": {"b"}}
HELLO = encode(hello("client", "s", scheme=""))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "the peer uses HTTP, which is served at another address, the setting `http`"),
        (b"\0\0\0\1\xc1", "invalid frame: "),
        (encode(frames.Ping(1)), "the first frame is Ping, not Hello"),
        (HELLO + b"\xff\xff\xff\xff", "frame of 4,294,967,295 bytes; the maximum is 1,048,576"),
        (HELLO + HELLO, "a second Hello"),
        (HELLO + encode(LinkRecord("a", 1, 1, 1, 0, {})), "a client must not send LinkRecord"),
        (
            encode(Hello(low=7, high=9, role="router", name="s", network="cbnet", incarnation=1, link=1, scheme="")),
            "no common protocol version: the peer supports 7 to 9, this router 5 to 5 for routers",
        ),
        (b"", "no Hello received for 3.5 s"),
    ],
)
def test_a_stranger_is_told_why_it_is_closed_and_the_network_goes_on(data, reason):
    lab = Lab("a-b b-c")
    lab.clients["c"].subscribe(1, "x = 1")
    lab.run(1)
    stranger = Stranger(lab.memory, "b")
    stranger.throw(data)
    lab.run(5)
    assert stranger.is_closed
    assert isinstance(stranger.heard[-1], Close)
    assert stranger.heard[-1].reason.startswith(reason)
    lab.clients["a"].publish({"x": 1}, b"m")
    lab.run(1)
    assert lab.payloads("c") == [b"m"]
    assert lab.memory.frames["Close"] == 1
