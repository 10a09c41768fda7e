"""Frames to observe and operate routers: subscriptions and status of any router, tables, and `cbnet reload`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from cbnet.network.protocol.fields import (
    MAX_FRAME_FILTERS,
    ContentDigest,
    FilterBytes,
    Hops,
    NodeName,
    Number,
    OptionalName,
    Part,
    Reason,
)
from cbnet.network.protocol.frame import FrameBase, FrameNumber
from cbnet.network.protocol.link_frames import Status

MAX_LISTED = 200  # subscriptions
MAX_LISTED_LENGTH = 2_000  # characters of one predicate
MAX_INTERFACES = 10_000
MAX_CHANGES = 200


class SubscriptionField(Part):
    """A subscription at a router."""

    subscriber: Annotated[str, Meta(max_length=64)]  # name of the client, or another one of `InternalSubscriber`
    id: Number
    predicate: Annotated[str, Meta(max_length=MAX_LISTED_LENGTH)]
    is_whole: bool  # whether the predicate is not shortened


class SubscriptionRequest(FrameBase, tag=FrameNumber.SUBSCRIPTION_REQUEST.value):
    """Request for the subscriptions at a router."""

    number: Number
    at: OptionalName  # the router; empty: the one that the client is linked to


class SubscriptionList(FrameBase, tag=FrameNumber.SUBSCRIPTION_LIST.value):
    """The first subscriptions at a router."""

    number: Number
    router: NodeName
    subscriptions: Annotated[list[SubscriptionField], Meta(max_length=MAX_LISTED)]
    total: Number  # of all


# --- between routers


class Inquiry(FrameBase, tag=FrameNumber.INQUIRY.value):
    """A request for the status or the subscriptions of another router."""

    to: NodeName
    hops: Hops
    source: NodeName  # the router that receives the report
    number: Number  # chosen by the source, for the report
    subject: Literal["status", "subscriptions"]


class InquiryReport(FrameBase, tag=FrameNumber.INQUIRY_REPORT.value):
    """The answer to an inquiry."""

    to: NodeName
    hops: Hops
    number: Number  # of the inquiry
    report: Status | SubscriptionList


# --- tables, as `cbnet verify` reads them


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


# --- operation


class Reload(FrameBase, tag=FrameNumber.RELOAD.value):
    """Request to read the configuration of the router again."""

    number: Number


class Reloaded(FrameBase, tag=FrameNumber.RELOADED.value):
    """The configuration was read again: what has changed, one text for each key."""

    number: Number
    changes: Annotated[list[Reason], Meta(max_length=MAX_CHANGES)]
