"""Frames of link-state flooding: records, their summaries, requests and acknowledgements."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from cbnet.network.protocol.fields import (
    MAX_ENTRIES,
    MAX_INT,
    FilterKind,
    Filters,
    GatewayPath,
    Hops,
    Neighbours,
    NodeName,
    Number,
    RecordEntry,
)
from cbnet.network.protocol.frame import FrameBase, FrameNumber


class LinkRecord(FrameBase, tag=FrameNumber.LINK_RECORD.value):
    """A router's links: its neighbours, and the length of the link to each."""

    owner: NodeName
    life: Number
    sequence: Number
    age: Number  # ms
    neighbours: Neighbours
    # Of a gateway: the path from the root of the gateway tree to itself; see `gateway_tree`.
    path: GatewayPath = []  # noqa: RUF012  # msgspec copies it for each frame


class FilterRecord(FrameBase, tag=FrameNumber.FILTER_RECORD.value):
    """A node's whole predicate or offers, or a part of them; the parts follow each other on a link."""

    owner: NodeName
    life: Number
    sequence: Number
    age: Number
    filters: Filters
    is_last: bool
    kind: FilterKind = 1


class FilterChange(FrameBase, tag=FrameNumber.FILTER_CHANGE.value):
    """A node's predicate or offers, as the difference to the previous sequence number."""

    owner: NodeName
    life: Number
    sequence: Annotated[int, Meta(ge=1, le=MAX_INT)]
    age: Number
    added: Filters
    removed: Filters
    wants_ack: bool
    kind: FilterKind = 1


class RecordSummary(FrameBase, tag=FrameNumber.RECORD_SUMMARY.value):
    """The versions of records that a router has."""

    entries: Annotated[list[RecordEntry], Meta(max_length=MAX_ENTRIES)]


class RecordRequest(FrameBase, tag=FrameNumber.RECORD_REQUEST.value):
    """Records that a router lacks; only owner and kind of the entries count."""

    entries: Annotated[list[RecordEntry], Meta(max_length=MAX_ENTRIES)]


class RecordAck(FrameBase, tag=FrameNumber.RECORD_ACK.value):
    """Acknowledgement: a router, in its present life, has a version of the predicate or offers of another."""

    to: NodeName
    hops: Hops
    router: NodeName
    router_life: Number
    life: Number
    sequence: Number
    kind: FilterKind = 1


class AckRequest(FrameBase, tag=FrameNumber.ACK_REQUEST.value):
    """Request to acknowledge the present version of the sender's predicate or offers."""

    to: NodeName
    hops: Hops
    router: NodeName
    kind: FilterKind = 1
