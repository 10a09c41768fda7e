"""Frames between routers: link records, their summaries and requests; announcements and acknowledgements; credit."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from cbnet.network.protocol.fields import (
    MAX_CREDIT_HOPS,
    MAX_ENTRIES,
    MAX_FRAME_STREAMS,
    MAX_HELD,
    ContentDigest,
    Filters,
    GatewayPath,
    Neighbours,
    NodeName,
    Number,
    RecordEntry,
    StreamAck,
    StreamChange,
    StreamWaiting,
)
from cbnet.network.protocol.frame import FrameBase, FrameNumber

# --- link-state flooding


class LinkRecord(FrameBase, tag=FrameNumber.LINK_RECORD.value):
    """A router's links: its neighbours, with the length of the link to each and its sessions."""

    owner: NodeName
    incarnation: Number
    sequence: Number
    changes: Number  # of the links in this incarnation; a renewal changes nothing
    age: Number  # ms
    neighbours: Neighbours
    # Of a gateway: the path from the root of the gateway tree to itself; see `gateway_tree`.
    path: GatewayPath = []  # noqa: RUF012  # msgspec copies it for each frame


class RecordSummary(FrameBase, tag=FrameNumber.RECORD_SUMMARY.value):
    """The versions of records that a router has."""

    entries: Annotated[list[RecordEntry], Meta(max_length=MAX_ENTRIES)]


class RecordRequest(FrameBase, tag=FrameNumber.RECORD_REQUEST.value):
    """Records that a router lacks; only the owners of the entries count."""

    entries: Annotated[list[RecordEntry], Meta(max_length=MAX_ENTRIES)]


# --- announcements


class Announce(FrameBase, tag=FrameNumber.ANNOUNCE.value):
    """Changes of streams; a filter that several streams need is there once.

    A change names filters by their index: those of subscriptions first, then those of offers.
    """

    filters: Filters  # of subscriptions
    offers: Filters
    changes: Annotated[list[StreamChange], Meta(max_length=MAX_FRAME_STREAMS)]
    ended: Annotated[list[Number], Meta(max_length=MAX_FRAME_STREAMS)]  # streams, after the changes


class Held(FrameBase, tag=FrameNumber.HELD.value):
    """Contents of the receiver's streams that the sender still has from before this session."""

    contents: Annotated[list[ContentDigest], Meta(max_length=MAX_HELD)]


class AnnounceAck(FrameBase, tag=FrameNumber.ANNOUNCE_ACK.value):
    """Acknowledgements of changes, and what others are waiting for."""

    acks: Annotated[list[StreamAck], Meta(max_length=MAX_FRAME_STREAMS)]
    waiting: Annotated[list[StreamWaiting], Meta(max_length=MAX_FRAME_STREAMS)] = []  # noqa: RUF012  # msgspec copies it


# --- back-pressure


class Credit(FrameBase, tag=FrameNumber.CREDIT.value):
    """How many bytes of packets with some number of hops the sender accepts, since the session began."""

    hops: Annotated[int, Meta(ge=1, le=MAX_CREDIT_HOPS)]
    limit: Number
