"""Frames and bytes: every frame comes back as it was, in whatever pieces; everything else is refused with a reason."""

import msgspec
import pytest
from support.packets import packet

from cbnet.network.protocol import frames
from cbnet.network.protocol.fields import (
    MAX_FRAME_FILTERS,
    MAX_FRAME_STREAMS,
    MAX_PAYLOAD_BYTES,
    MAX_PREDICATE_LENGTH,
    MAX_REQUEST_BYTES,
    MAX_TAGS,
    MAX_VALUES,
)
from cbnet.network.protocol.frames import Close, Hello, Packet, Ping, Publish, Subscribe
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.protocol.wire import (
    MAX_CLIENT_FRAME_BYTES,
    MAX_HELLO_BYTES,
    MAX_PACKET_BYTES,
    MAX_ROUTER_FRAME_BYTES,
    FrameReader,
    WireError,
    encode,
    encode_body,
)

ROUTER = Hello(low=5, high=5, role="router", name="a", network="cbnet", incarnation=7, link=1, scheme="multitree:1")
CLIENT = Hello(low=5, high=5, role="client", name="c", network="cbnet", incarnation=0, link=0, scheme="")
HOP = frames.Hop(
    router="a", came_from="b", hops=1, dropped="", tree=0, root="b",
    branches=[frames.Branch("c", True, 1, ["x = 1"])], delivered=["1 of c"], missed=["2 of c"], hypothetical=[],
)  # fmt: skip
REPLY = frames.ReplyFrame(
    to="b", hops=1, incarnation=1, number=2, request=b"\x90", attributes={"x": 1}, tags=["t"], payload=b"\0",
    holder="a", cache="", age=0, keep=None, asked=1,
)  # fmt: skip
STATUS = frames.Status(
    number=1, router="a", network="cbnet", scheme="multitree:1", incarnation=7, uptime=1.5, neighbours={"b": 1},
    reachable=2, records=4, is_complete=True, versions=1, streams_in=2, streams_out=2, filters=5, table_filters=5,
    own_filters=1, subscriptions=1, clients=1, interfaces=[], counters={"x": 1},
    peers=[frames.Peer(name="b", role="router", received=1, sent=2, waiting=3, dropped=4, messages_received=5, messages_sent=6)],
)  # fmt: skip
ALL = [
    ROUTER,
    Ping(1),
    frames.Pong(1),
    Close("why"),
    frames.LinkRecord("a", 1, 2, 3, 4, {"b": frames.LinkField(1, [7]), "c": frames.LinkField(5, [8, 9])}, ["g", "a"]),
    frames.RecordSummary("links", [frames.RecordEntry("a", 1, 2)]),
    frames.RecordRequest("links", [frames.RecordEntry("a", 0, 0)]),
    frames.Announce(
        filters=[b"\x90", b"\x91"],
        offers=[b"\x90"],
        changes=[
            frames.StreamChange(number=3, sequence=1, side=b"k" * 16, base=0, added=[0, 2], removed=[], is_last=False),
            frames.StreamChange(number=4, sequence=9, side=b"", base=0, added=[], removed=[1], is_last=True),
        ],
        ended=[1, 2],
    ),
    frames.Held([b"d" * 16]),
    frames.Credit(14, 1 << 20),
    frames.TableRequest(1),
    frames.FilterRequest(1, "a", "b", False, 0),
    frames.TableSummary(1, "a", True, 7, [frames.InterfaceTable("a", "b", 1, b"d" * 16, 0, b"e" * 16)]),
    frames.FilterPage(1, [b"\x90"], True),
    frames.SubscriptionRequest(1, "b"),
    frames.SubscriptionList(1, "a", [frames.SubscriptionField("c", 1, "x = 1", True)], 1),
    frames.Inquiry("b", 1, "a", 2, "status"),
    frames.InquiryReport("a", 1, 2, frames.SubscriptionList(0, "b", [], 0)),
    frames.AnnounceAck(
        [frames.StreamAck(3, 1, 0), frames.StreamAck(4, 9, 2**63 - 1)], [frames.StreamWaiting(5, ["a→b"])]
    ),
    packet(
        side=5,
        attributes={"x": 1, "y": -2.5, "z": "é", "b": True, "n": None, "d": {"s": [1, "a", {"t": None}]}},
        tags=["t"],
        payload=b"\0\xff",
    ),
    packet(tree=63, side=2**63 - 1, tries=3, mark=frames.TraceMark(4, True, "x = 1", "b")),
    frames.Request(
        source="b",
        incarnation=1,
        number=2,
        request=b"\x90",
        tree=3,
        visited=["b", "c"],
        path=["b"],
        tried=1,
        asked=1,
        max_holders=8,
        timeout=5_000,
        is_fresh=True,
        steps=[frames.StepField("a", "passed on")],
    ),
    REPLY,
    msgspec.structs.replace(
        REPLY, attributes={}, tags=[], payload=b"", cache="c", age=9, keep=60_000, asked=0, steps=[]
    ),
    frames.NoItem(to="b", hops=1, incarnation=1, number=2, tried=3, asked=2, steps=None),
    frames.TraceReport("a", 0, 4, HOP),
    Subscribe(1, "x = 1", 2.5),
    frames.Unsubscribe(1),
    Publish(1, {"x": 1}, [], b"", True),
    frames.Trace(number=1, attributes={"x": 1}, tags=[], payload=b"", is_dry=True, predicate="x = 1", at="b"),
    frames.SlowPolicy("disconnect"),
    frames.StatusRequest(1),
    frames.OfferFrame(1, "x = 1", 0.0),
    frames.Withdraw(1),
    frames.PullFrame(number=1, request=b"\x90", timeout=5.0, max_holders=8, is_fresh=False, is_traced=True),
    frames.Answer(1, None),
    frames.Answer(1, frames.ItemField({"x": 1}, ["t"], b"\0", 0)),
    frames.Subscribed(1, True, 5, ["z"]),
    frames.Unsubscribed(1),
    frames.Published(1),
    frames.TracedFrame(1, HOP),
    frames.TraceEnd(1, ["z"]),
    frames.RefusedFrame(20, 1, "why"),
    frames.Offered(1, True, 5, ["z"]),
    frames.Withdrawn(1),
    frames.HolderRequest(1, 2, b"\x90"),
    frames.PullReply(
        number=1, attributes={"x": 1}, tags=["t"], payload=b"\0", holder="a", cache="b", age=9, asked=1, steps=None
    ),
    frames.PullFailure(1, False, 2, 1, [frames.StepField("a", "no router offers it")]),
    frames.Deliver(subscriptions=[1, 2], source="a", incarnation=1, number=2, attributes={"x": 1}, tags=["t"], payload=b"p"),
    frames.Lost(3),
    frames.Lost(0, "b has restarted"),
    frames.Reload(1, "a"),
    frames.Reloaded(1, ["clients: added b"]),
    STATUS,
    Packet(
        source="a", incarnation=1, number=2, hops=0, tree=0, side=0, tries=0, attributes={}, tags=[], payload=b"",
        durable=frames.DurableMark(1, {"b": 0, "c": 1}, True),
    ),
    frames.HomeRecord("a", 1, 2, "127.0.0.1:4001", [("", "billing")], [b"\x90"]),
    frames.RecordSummary("homes", [frames.RecordEntry("a", 1, 2)], True),
    frames.HomeAck("a", 0, "b", 1, 2),
    frames.Stored("a", 0, "b", [frames.StoredEntry(1, 2, 3, 0, "")], 7, [frames.StoredRun(1, 2, 3, 4)]),
    frames.PacketRun("a", 1, 2, 0, 0, 3, 0, [b"\x93\x80\x90\xc4\x00"], frames.DurableMark(1, {"b": 0}, False)),
    frames.DurableSubscribe(1, "billing", "x > 0", 0.0, 100, 30.0, frames.DurableLimits(messages=5)),
    frames.Acknowledge(1, [3, 4], 2),
    frames.DurablePublish(1, 2, 1, 5.0, {"x": 1}, ["t"], b"p"),
    frames.DurableQuery(1),
    frames.DurableQuery(1, ("", "billing")),
    frames.DurableRemove(1, "billing"),
    frames.DurableRemove(1, "billing", ""),
    frames.DurableLimit(1, "billing", 5, None, 60.0, "drop oldest"),
    frames.DurableLimit(1, "billing", 5, None, 60.0, "drop oldest", "ann"),
    frames.ForgetHome(1, "b"),
    frames.DurableDeliver(1, 2, 1, "a", 1, 2, b"\x93\x80\x90\xc4\x00"),
    frames.DurablePublished(1, 2, 3, 0, ["b"], ["c: the disk is full"]),
    frames.DurablePublishedRun(1, 2, 3, 4),
    frames.DurableReport(
        1, [frames.DurableField("billing", "", "x > 0", frames.DurableLimits(), 1, 2, 3, 0, 1, 0)], {"b": 1}, ""
    ),
    frames.DurableRemoved(1, 5),
    frames.DurableLimited(1, frames.DurableLimits(messages=5)),
    frames.GroupRecord("a", 1, 2, [frames.GroupField("ann", "workers", b"d" * 16, 3)], b""),
    frames.Subscribe(1, "x > 0", 0.0, False, "workers"),
    frames.DurablePeek(1, "billing", 1, 0, 20),
    frames.DurableMove(1, "failed", "billing", [1, 7], 0, 0, 0),
    frames.DurablePurge(1, "billing", [], 1, 9, 5, "ann"),
    frames.JournalBackup(1, "monday"),
    frames.JournalBackedUp(1, "/journal/backups/monday.sqlite", 5),
    frames.DurablePeeked(1, [frames.StoredField(1, 2, 1e9, "a", 7, 3, b"content")], 2, 9),
    frames.DurableTaken(1, 2, 0, 9, ""),
    frames.DurableLost(1, 2),
    frames.DurableLost(1, 0, "b was restarted"),
    frames.Replay(1, "x > 0", 0.0, 100, frames.HistoryStart(7, None, 5)),
    frames.Replay(1, "x > 0", 0.0, 100, frames.HistoryStart(age=3_600.0)),
    frames.Replaying(1, 5, 7, 12),
    frames.DurableReport(1, [], {}, "", frames.HistoryField("x > 0", 1, 2, 3, 4, 5.0, 6.0, 0), "ann", ["bob"], 7),
]  # fmt: skip


def body(data):
    return len(data).to_bytes(4) + data


def raw(*members):
    return body(msgspec.msgpack.encode(members))


def reader(hello=ROUTER):
    begun = FrameReader()
    assert list(begun.feed(encode(hello))) == [hello]
    return begun


def test_every_kind_of_frame_is_tried_here():
    assert {type(frame) for frame in ALL} == set(frames.FRAMES)


@pytest.mark.parametrize("frame", ALL, ids=lambda frame: type(frame).__name__)
def test_frame_survives_encoding(frame):
    assert list(reader().feed(encode(frame))) == ([frame])


@pytest.mark.parametrize("frame", ALL, ids=lambda frame: type(frame).__name__)
def test_a_body_is_a_frame_without_its_length(frame):
    body = encode_body(frame)
    assert len(body).to_bytes(4) + body == encode(frame)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_frames_may_come_in_pieces_of_any_size(size):
    data = b"".join(map(encode, ALL))
    fresh = FrameReader()
    found = [frame for at in range(0, len(data), size) for frame in fresh.feed(data[at : at + size])]
    assert found == ALL


def refusal(data, hello=ROUTER):
    with pytest.raises(WireError) as raised:
        list((reader(hello) if hello else FrameReader()).feed(data))
    return raised.value.reason


def test_the_first_frame_must_be_a_hello():
    assert refusal(encode(Ping(1)), hello=None) == "the first frame is Ping, not Hello"


@pytest.mark.parametrize(
    ("hello", "most"), [(None, MAX_HELLO_BYTES), (CLIENT, MAX_CLIENT_FRAME_BYTES), (ROUTER, MAX_ROUTER_FRAME_BYTES)]
)
def test_a_frame_that_is_too_long_is_refused_before_it_is_here(hello, most):
    started = reader(hello) if hello else FrameReader()
    assert list(started.feed(most.to_bytes(4))) == []
    assert refusal((most + 1).to_bytes(4), hello) == f"frame of {most + 1:,} bytes; the maximum is {most:,}"


@pytest.mark.parametrize(
    "data",
    [
        body(b""),
        body(b"\xc1"),
        body(b"\x91"),  # an array that does not go on
        body(b"\x92\x02\x01\x01"),  # something behind
        body(b"\x01"),
        body(b"\x80"),
        body(b"\x91" * 1_000),
        raw(),
        raw("ping", 1),
        raw(99, 1),
        raw(2),
        raw(2, 1, 1),
        raw(2, -1),
        raw(2, 2**63),
        raw(2, 1.0),
        raw(2, True),
        raw(1, 1, 1, "king", "a", "cbnet", 0, 0, ""),
        raw(1, 1, 1, "router", "", "cbnet", 0, 0, ""),
        raw(1, 1, 1, "router", "a" * 65, "cbnet", 0, 0, ""),
        raw(5, "a", 1, 1, 1, 0, {"b": 1}),
        raw(5, "a", 1, 1, 1, 0, {"b": [0, [1]]}),
        raw(5, "a", 1, 1, 1, 0, {"b": [1, []]}),
        raw(5, "a", 1, 1, 1, 0, {"b": [1, list(range(17))]}),
        raw(5, "a", 1, 1, 1, 0, {"": [1, [1]]}),
        raw(5, "a", 1, 1, 1, 0, {f"b{n}": [1, [1]] for n in range(1_001)}),
        raw(6, [b""] * (MAX_FRAME_FILTERS + 1), [], [], []),
        raw(6, [], [], [[1, 0, b"", 0, [], [], True]], []),
        raw(6, [], [], [[1, 1, b"k" * 17, 0, [], [], True]], []),
        raw(6, [], [], [[1, 1, b"", 0, [-1], [], True]], []),
        raw(6, [], [], [], [1] * (MAX_FRAME_STREAMS + 1)),
        raw(7, [[1, 1]]),
        raw(8, [["a", 3, 1, 1]]),
        raw(14, "b", 1, 2, b"", 0, ["c"] * 257, [], 0, 0, 8, 1, True, None),
        raw(14, "b", 1, 2, b"", 64, [], [], 0, 0, 8, 1, True, None),
        raw(14, "b", 1, 2, b"", 0, [], [], 0, 0, 0, 1, True, None),
        raw(28, 1, b"", 5.0, 65, False, False),
        raw(28, 1, b"x" * (MAX_REQUEST_BYTES + 1), 5.0, 8, False, False),
        raw(29, 1, [{"x": b""}, [], b"", None]),
        raw(20, 1, "x" * (MAX_PREDICATE_LENGTH + 1), 0),
        raw(20, 1, "x = 1", -1.0),
        raw(20, 1, "x = 1", float("nan")),
        raw(22, 1, {"x": b"bytes"}, [], b"", False),
        raw(22, 1, {"x": float("nan")}, [], b"", False),
        raw(22, 1, {"x": float("inf")}, [], b"", False),
        raw(22, 1, {"x": 2**63}, [], b"", False),
        raw(22, 1, {1: 1}, [], b"", False),
        raw(22, 1, {f"x{n}": 1 for n in range(MAX_VALUES + 1)}, [], b"", False),
        raw(22, 1, {}, ["t"] * (MAX_TAGS + 1), b"", False),
        raw(22, 1, {}, [1], b"", False),
        raw(22, 1, {}, [], b"x" * (MAX_PAYLOAD_BYTES + 1), False),
        raw(22, 1, {}, [], "text", False),
        raw(10, "a", 1, 2, 256, 0, 0, 0, {}, [], b"", None),
        raw(10, "a", 1, 2, 0, 64, 0, 0, {}, [], b"", None),
        raw(10, "a", 1, 2, 0, 0, 0, 4, {}, [], b"", None),
        body(b"\x92\x04\xa3\xed\xa0\x80"),  # half of a surrogate pair
    ],
)
def test_invalid_frame_is_refused(data):
    assert refusal(data).startswith("invalid frame: ")


def test_clients_of_version_4_get_hops_and_subscriptions_without_groups():
    hop = msgspec.structs.replace(HOP, passed_over=["another member gets it"])
    before = msgspec.msgpack.decode(encode(frames.TracedFrame(1, HOP), 4)[4:])
    assert msgspec.msgpack.decode(encode(frames.TracedFrame(1, hop), 4)[4:]) == before
    assert msgspec.msgpack.decode(encode(frames.TracedFrame(1, hop))[4:]) == [
        33,
        1,
        [*before[2], ["another member gets it"]],
    ]
    listed = frames.SubscriptionList(1, "a", [frames.SubscriptionField("c", 1, "x > 0", True, "workers")], 1)
    assert msgspec.msgpack.decode(encode(listed, 4)[4:]) == [57, 1, "a", [["c", 1, "x > 0", True]], 1]


def test_clients_of_version_4_get_limits_without_those_of_deliveries():
    limits = frames.DurableLimits(5, max_deliveries=3, dead_letter="failed")
    field = frames.DurableField("billing", "", "x > 0", limits, 1, 2, 3, 0, 1, 0)
    known = ["billing", "", "x > 0", [5, 0, 0.0, "refuse"], 1, 2, 3, 0, 1, 0]
    assert msgspec.msgpack.decode(encode(frames.DurableReport(1, [field], {}, ""), 4)[4:]) == [
        82,
        1,
        [known],
        {},
        "",
        None,
    ]
    assert msgspec.msgpack.decode(encode(frames.DurableLimited(1, limits), 4)[4:]) == [86, 1, known[3]]
    assert msgspec.msgpack.decode(encode(frames.DurableLimited(1, limits))[4:]) == [86, 1, [*known[3], 3, "failed"]]


def test_frames_before_a_wrong_one_are_read():
    feeding = reader().feed(encode(Ping(1)) + encode(Ping(2)) + body(b"\xc1") + encode(Ping(3)))
    assert [next(feeding), next(feeding)] == [Ping(1), Ping(2)]
    with pytest.raises(WireError):
        next(feeding)


def test_a_reason_is_never_too_long_for_a_close():
    error = WireError("x" * 10_000)
    assert list(reader().feed(encode(Close(error.reason)))) == [Close("x" * 500)]


JOURNAL = frames.JournalField("short", 5, 4, 3, 2, 0.5, 1.0)


@pytest.mark.parametrize(
    ("frame", "members", "added"),
    [
        (Close("why", ReasonCode.SLOW), [4, "why"], [25]),
        (frames.RefusedFrame(20, 1, "why", ReasonCode.LIMIT, "c:4001"), [35, 20, 1, "why"], [3, "c:4001"]),
        (frames.DurableRemoved(1, 5), [83, 1], [5]),
        (
            frames.DurablePublished(1, 2, 3, 4, ["a"], ["b"], {"c": frames.Refusals(1, [("ann", "s")])}),
            [81, 1, 2, 3, 4, ["a"], ["b"]],
            [{"c": [1, [["ann", "s"]]]}],
        ),
        (
            frames.DurableReport(
                1,
                [],
                {"b": 1},
                "",
                None,
                "ann",
                ["bob"],
                7,
                [frames.AccountField("ann", 1, 2, 3, 4, None, 5, 6, 7.5)],
                JOURNAL,
            ),
            [82, 1, [], {"b": 1}, "", None],
            ["ann", ["bob"], 7, [["ann", 1, 2, 3, 4, None, 5, 6, 7.5]], ["short", 5, 4, 3, 2, 0.5, 1.0]],
        ),
    ],
)
def test_clients_of_version_4_get_the_members_that_they_know(frame, members, added):
    assert msgspec.msgpack.decode(encode(frame, 4)[4:]) == members
    assert msgspec.msgpack.decode(encode(frame, 5)[4:]) == [*members, *added]
    assert encode(Ping(1), 4) == encode(Ping(1))


@pytest.mark.parametrize(
    ("members", "frame"),
    [
        ((54, 1), frames.Reload(1, "")),
        ((73, 1), frames.DurableQuery(1, None)),
        ((74, 1, "billing"), frames.DurableRemove(1, "billing", None)),
        ((77, 1, "billing", 5, None, None, None), frames.DurableLimit(1, "billing", 5, None, None, None, None)),
    ],
)
def test_frames_of_clients_of_version_4_are_read(members, frame):
    assert list(reader(CLIENT).feed(raw(*members))) == [frame]


def test_packet_that_could_grow_too_long_is_skipped_and_the_link_stays_open():
    attributes = {f"x{n}": "y" * 40_000 for n in range(70)}
    long = packet(attributes=attributes)
    assert MAX_PACKET_BYTES < len(encode(long)) < MAX_ROUTER_FRAME_BYTES
    started = reader()
    assert list(started.feed(encode(Ping(1)) + encode(long) + encode(Ping(2)))) == [Ping(1), Ping(2)]
    assert started.skipped == 1


def test_a_long_frame_in_very_many_pieces_is_not_copied_for_each_of_them():
    data = encode(Publish(1, {}, [], bytes(MAX_PAYLOAD_BYTES), False))
    started = reader()
    found = [frame for at in range(0, len(data), 5) for frame in started.feed(data[at : at + 5])]
    assert [len(frame.payload) for frame in found] == [MAX_PAYLOAD_BYTES]  # 100,000 copies of half of it would take 5 s


def test_after_a_wrong_frame_nothing_more_is_read():
    started = reader()
    for _ in range(3):
        with pytest.raises(WireError):
            list(started.feed(body(b"\xc1") + encode(Ping(3))))


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n\r\n", b"POST /metrics HTTP/1.1\r\n\r\n"])
def test_http_is_refused_with_the_address_that_serves_it(said):
    with pytest.raises(WireError, match="the peer uses HTTP, which is served at another address, the setting `http`"):
        list(FrameReader().feed(said))
