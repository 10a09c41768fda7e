"""Frames of any link: greeting, heartbeat, closing, refusal, slow clients and status."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from cbnet.network.protocol.fields import (
    MAX_COUNTERS,
    MAX_NEIGHBOURS,
    MAX_PEERS,
    MAX_STATUS_INTERFACES,
    MAX_TOKEN_LENGTH,
    Code,
    InterfaceStatus,
    NodeName,
    Number,
    OptionalName,
    Peer,
    Reason,
    Weights,
)
from cbnet.network.protocol.frame import FrameBase, FrameNumber
from cbnet.network.protocol.history_frames import HistoryField

Silent = Annotated[dict[NodeName, Number], Meta(max_length=MAX_NEIGHBOURS)]


class Hello(FrameBase, tag=FrameNumber.HELLO.value):
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


class Ping(FrameBase, tag=FrameNumber.PING.value):
    """Heartbeat; the peer answers with a `Pong`."""

    number: Number


class Pong(FrameBase, tag=FrameNumber.PONG.value):
    """Answer to a `Ping`."""

    number: Number


class Close(FrameBase, tag=FrameNumber.CLOSE.value):
    """The last frame on a link, with the reason for closing it."""

    reason: Reason
    code: Code = 0


# --- between a client and its router


class RefusedFrame(FrameBase, tag=FrameNumber.REFUSED.value):
    """Refusal of a client's frame: the number of the frame, its id or number, and the reason."""

    frame: Number
    number: Number
    reason: Reason
    code: Code = 0


class SlowPolicy(FrameBase, tag=FrameNumber.SLOW_POLICY.value):
    """Policy when the send queue of this client is full: drop the oldest messages and report it, or disconnect."""

    policy: Literal["drop", "disconnect"]


class Lost(FrameBase, tag=FrameNumber.LOST.value):
    """Number of messages dropped, since the last such frame, because the client reads too slowly, or another cause."""

    messages: Number  # 0: unknown
    cause: Reason = ""  # empty: the client reads too slowly


class StatusRequest(FrameBase, tag=FrameNumber.STATUS_REQUEST.value):
    """Request for the status of a router."""

    number: Number
    at: OptionalName = ""  # the router; empty: the one that the client is linked to


class Status(FrameBase, tag=FrameNumber.STATUS.value):
    """Status of a router."""

    number: Number
    router: NodeName
    network: NodeName
    scheme: Annotated[str, Meta(max_length=64)]
    incarnation: Number
    uptime: Annotated[float, Meta(ge=0)]  # seconds
    neighbours: Weights
    reachable: Number  # routers, including this one
    records: Number  # of links
    is_complete: bool  # whether all streams of the newest version of the topology have arrived
    versions: Number  # of the topology, in use
    streams_in: Number
    streams_out: Number
    filters: Number  # different ones, of all interfaces and of this router itself
    table_filters: Number  # in the table that messages are matched against
    own_filters: Number  # different ones of its clients' subscriptions, and of its initial predicate
    subscriptions: Number
    clients: Number
    interfaces: Annotated[list[InterfaceStatus], Meta(max_length=MAX_STATUS_INTERFACES)]
    peers: Annotated[list[Peer], Meta(max_length=MAX_PEERS)]
    counters: Annotated[dict[str, Number], Meta(max_length=MAX_COUNTERS)]
    initial: Number = 0  # filters of the node's initial predicate
    offers: Number = 0  # of its clients
    cached: Number = 0  # bytes of cached replies
    silent: Silent = {}  # noqa: RUF012  # msgspec copies it; neighbours that owe announcements, with the seconds of silence
    history: HistoryField | None = None
