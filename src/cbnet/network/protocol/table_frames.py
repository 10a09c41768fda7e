"""Frames to inspect the tables of a router, as `cbnet verify` does."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from cbnet.network.protocol.fields import (
    MAX_FRAME_FILTERS,
    ContentDigest,
    FilterBytes,
    NodeName,
    Number,
    OptionalName,
    Part,
)
from cbnet.network.protocol.frame import FrameBase, FrameNumber

MAX_INTERFACES = 10_000


class InterfaceTable(Part):
    """An interface of a router on one tree: how many filters it has, and a digest of them."""

    root: OptionalName  # of the tree; empty for the router's own filters
    neighbour: OptionalName  # the same
    filters: Number  # of subscriptions
    digest: ContentDigest
    offers: Number
    offers_digest: ContentDigest


class TableRequest(FrameBase, tag=FrameNumber.TABLE_REQUEST.value):
    """Request for the digests of a router's tables."""

    number: Number


class FilterRequest(FrameBase, tag=FrameNumber.FILTER_REQUEST.value):
    """Request for filters of one interface, in their order, from an index on; empty names: the router's own."""

    number: Number
    root: OptionalName
    neighbour: OptionalName
    are_offers: bool
    first: Number


class TableSummary(FrameBase, tag=FrameNumber.TABLE_SUMMARY.value):
    """The digests of a router's tables."""

    number: Number
    router: NodeName
    is_settled: bool  # whether the newest version of the topology is complete and the only one
    version: Number  # its id
    interfaces: Annotated[list[InterfaceTable], Meta(max_length=MAX_INTERFACES)]


class FilterPage(FrameBase, tag=FrameNumber.FILTER_PAGE.value):
    """Some filters of an interface."""

    number: Number
    filters: Annotated[list[FilterBytes], Meta(max_length=MAX_FRAME_FILTERS)]
    is_last: bool
