"""Frames of the control plane: greeting, heartbeats and closing of links, link records, announcements, credit."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from cbnet.network.protocol.fields import (
    MAX_CREDIT_HOPS,
    MAX_FRAME_STREAMS,
    MAX_GROUPS,
    MAX_HELD,
    MAX_INT,
    MAX_NEIGHBOURS,
    MAX_ROUTERS,
    MAX_SESSIONS,
    MAX_TOKEN_LENGTH,
    MAX_WAITING_LINKS,
    MAX_WEIGHT,
    AddressText,
    Code,
    ContentDigest,
    Filters,
    Frame,
    GatewayPath,
    LinkName,
    NodeName,
    Number,
    NumberedFrame,
    OptionalName,
    Part,
    Reason,
    RecordFrame,
    Signature,
    StreamFilters,
    Weight,
)

# --- any link


class Hello(Frame, tag=1):
    """The first frame on a link, from either side: identity of the sender and protocol versions that it supports."""

    low: Number
    high: Number
    role: Literal["router", "client"]
    name: NodeName
    network: NodeName
    incarnation: Number  # of a router: a new random number at each start
    link: Number  # of a router: its number of this connection, another one for each
    scheme: Annotated[str, Meta(max_length=64)]
    token: Annotated[str, Meta(max_length=MAX_TOKEN_LENGTH)] = ""  # credential of a client

    def __repr__(self) -> str:
        fields = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__[:-1])
        return f"Hello({', '.join(fields)}{', token=…' if self.token else ''})"  # a token must not reach any log


class Ping(NumberedFrame, tag=2):
    """Heartbeat; the peer answers with a `Pong`."""


class Pong(NumberedFrame, tag=3):
    """Answer to a `Ping`."""


class Close(Frame, tag=4):
    """The last frame on a link, with the reason for closing it."""

    reason: Reason
    code: Code = 0


class RefusedFrame(Frame, tag=35):
    """Refusal of a client's frame: the number of the frame, its id or number, and the reason."""

    frame: Number
    number: Number
    reason: Reason
    code: Code = 0
    address: AddressText = ""  # where the home of a durable subscription is; empty: elsewhere, or not known


class SlowPolicy(Frame, tag=24):
    """Policy when the send queue of this client is full: drop the oldest messages and report it, or disconnect."""

    policy: Literal["drop", "disconnect"]


class Lost(Frame, tag=37):
    """Number of messages dropped, since the last such frame, because the client reads too slowly, or another cause."""

    messages: Number  # 0: unknown
    cause: Reason = ""  # empty: the client reads too slowly


# --- link-state records


class RecordEntry(Part):
    """Owner and version of a record."""

    owner: NodeName
    incarnation: Number
    sequence: Number
    journal: Number = 0  # of a home


class LinkField(Part):
    """A link to a neighbour: its length, and the sessions that are open."""

    weight: Weight
    sessions: Annotated[list[Number], Meta(min_length=1, max_length=MAX_SESSIONS)]


Neighbours: TypeAlias = Annotated[dict[NodeName, LinkField], Meta(max_length=MAX_NEIGHBOURS)]


class LinkRecord(RecordFrame, tag=5):
    """A router's links: its neighbours, with the length of the link to each and its sessions."""

    changes: Number  # of the links in this incarnation; a renewal changes nothing
    age: Number  # ms
    neighbours: Neighbours
    # Of a gateway: the path from the root of the gateway tree to itself; see `network.router.gateway`.
    path: GatewayPath = []  # noqa: RUF012  # msgspec copies it for each frame
    signature: Signature = b""


class GroupField(Part):
    """The members of a queue group at a router."""

    account: OptionalName
    name: NodeName
    predicate: ContentDigest  # of its filters
    members: Annotated[int, Meta(ge=1, le=MAX_WEIGHT)]


class GroupRecord(RecordFrame, tag=19):
    """The queue groups that have members at a router."""

    groups: Annotated[list[GroupField], Meta(max_length=MAX_GROUPS)]
    signature: Signature = b""


RecordKind: TypeAlias = Literal["links", "homes", "groups"]
RecordEntries: TypeAlias = Annotated[list[RecordEntry], Meta(max_length=MAX_ROUTERS)]


class RecordSummary(Frame, tag=8):
    """The versions of records that a router has."""

    kind: RecordKind
    entries: RecordEntries
    is_complete: bool = False  # of homes: else the sender has just started, and may learn of others


class RecordRequest(Frame, tag=9):
    """Records that a router lacks, in these or later versions."""

    kind: RecordKind
    entries: RecordEntries


# --- announcements


class StreamChange(Part):
    """A change of the content of a stream, or a part of one; filters are indexes into those of the frame."""

    number: Number
    sequence: Annotated[int, Meta(ge=1, le=MAX_INT)]  # 1 opens the stream
    side: Annotated[bytes, Meta(max_length=16)]  # key of the side that it announces; empty unless it opens the stream
    base: Number | ContentDigest  # a stream of this session, or a held content, that it starts from; 0: it starts empty
    added: StreamFilters
    removed: StreamFilters
    is_last: bool  # else more parts follow


class StreamWaiting(Part):
    """Links that have not acknowledged changes of a stream for some time."""

    number: Number
    links: Annotated[list[LinkName], Meta(max_length=MAX_WAITING_LINKS)]


class StreamAck(Part):
    """Acknowledgement of all changes of a stream up to a sequence number."""

    number: Number
    sequence: Number
    version: Number  # 0: the streams that it feeds have it; else all routers beyond have it, in this version


class Announce(Frame, tag=6):
    """Changes of streams; a filter that several streams need is there once.

    A change names filters by their index: those of subscriptions first, then those of offers.
    """

    filters: Filters  # of subscriptions
    offers: Filters
    changes: Annotated[list[StreamChange], Meta(max_length=MAX_FRAME_STREAMS)]
    ended: Annotated[list[Number], Meta(max_length=MAX_FRAME_STREAMS)]  # streams, after the changes


class Held(Frame, tag=11):
    """Contents of the receiver's streams that the sender still has from before this session."""

    contents: Annotated[list[ContentDigest], Meta(max_length=MAX_HELD)]


class AnnounceAck(Frame, tag=7):
    """Acknowledgements of changes, and what others are waiting for."""

    acks: Annotated[list[StreamAck], Meta(max_length=MAX_FRAME_STREAMS)]
    waiting: Annotated[list[StreamWaiting], Meta(max_length=MAX_FRAME_STREAMS)] = []  # noqa: RUF012  # msgspec copies it


# --- back-pressure


class Credit(Frame, tag=12):
    """How many bytes of packets with some number of hops the sender accepts, since the session began."""

    hops: Annotated[int, Meta(ge=1, le=MAX_CREDIT_HOPS)]
    limit: Number
