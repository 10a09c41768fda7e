"""Frames to observe and operate routers: subscriptions and status of any router, tables, and `cbnet reload`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from cbnet.network.protocol.durable_operation_frames import HistoryField
from cbnet.network.protocol.fields import (
    MAX_COUNTERS,
    MAX_FRAME_FILTERS,
    MAX_NEIGHBOURS,
    MAX_PEERS,
    MAX_STATUS_INTERFACES,
    MAX_TREES,
    ContentDigest,
    FilterBytes,
    NodeName,
    Number,
    NumberedFrame,
    OptionalName,
    Part,
    Reason,
    UnicastFrame,
    Weights,
)

MAX_LISTED = 200  # subscriptions
MAX_LISTED_LENGTH = 2_000  # characters of one predicate
MAX_INTERFACES = 10_000
MAX_CHANGES = 200


Silent = Annotated[dict[NodeName, Number], Meta(max_length=MAX_NEIGHBOURS)]


class InterfaceStatus(Part):
    """An interface of a router: a neighbour, on the trees that have the same two sides of the link to it."""

    neighbour: NodeName
    trees: Annotated[list[Number], Meta(min_length=1, max_length=MAX_TREES)]  # numbers, the first ones of many
    routers: Number  # on the neighbour's side
    is_up: bool  # whether the session of the trees is open
    is_heard: bool  # whether all that the neighbour's side wants has arrived
    is_acknowledged: bool  # whether the neighbour's side has acknowledged all that was announced
    held: Number  # filters that the neighbour announces
    announced: Number  # filters announced to the neighbour
    covered: Number  # filters not announced to it, as others cover them
    offers_held: Number
    offers_announced: Number


class Peer(Part):
    """A link of a router, with its traffic."""

    name: NodeName
    role: Literal["router", "client"]
    received: Number  # bytes
    sent: Number  # bytes
    waiting: Number  # bytes in the send queue
    dropped: Number  # messages dropped because the peer reads too slowly
    messages_received: Number = 0
    messages_sent: Number = 0


class StatusRequest(NumberedFrame, tag=25):
    """Request for the status of a router."""

    at: OptionalName = ""  # the router; empty: the one that the client is linked to


class Status(NumberedFrame, tag=38):
    """Status of a router."""

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


class SubscriptionField(Part):
    """A subscription at a router."""

    subscriber: OptionalName  # name of the client, or another one of `InternalSubscriber`
    id: Number
    predicate: Annotated[str, Meta(max_length=MAX_LISTED_LENGTH)]
    is_whole: bool  # whether the predicate is not shortened
    group: OptionalName = ""  # its queue group, if it has one


class SubscriptionRequest(NumberedFrame, tag=56):
    """Request for the subscriptions at a router."""

    at: OptionalName  # the router; empty: the one that the client is linked to


class SubscriptionList(NumberedFrame, tag=57):
    """The first subscriptions at a router."""

    router: NodeName
    subscriptions: Annotated[list[SubscriptionField], Meta(max_length=MAX_LISTED)]
    total: Number  # of all


# --- between routers


class Inquiry(UnicastFrame, tag=17):
    """A request for the status or the subscriptions of another router."""

    source: NodeName  # the router that receives the report
    number: Number  # chosen by the source, for the report
    subject: Literal["status", "subscriptions"]


class InquiryReport(UnicastFrame, tag=18):
    """The answer to an inquiry."""

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


class TableRequest(NumberedFrame, tag=50):
    """Request for the digests of a router's tables."""


class FilterRequest(NumberedFrame, tag=51):
    """Request for filters of one interface, in their order, from an index on; empty names: the router's own."""

    root: OptionalName
    neighbour: OptionalName
    are_offers: bool
    first: Number


class TableSummary(NumberedFrame, tag=52):
    """The digests of a router's tables."""

    router: NodeName
    is_settled: bool  # whether the newest version of the topology is complete and the only one
    version: Number  # its id
    interfaces: Annotated[list[InterfaceTable], Meta(max_length=MAX_INTERFACES)]


class FilterPage(NumberedFrame, tag=53):
    """Some filters of an interface."""

    filters: Annotated[list[FilterBytes], Meta(max_length=MAX_FRAME_FILTERS)]
    is_last: bool


# --- operation


class Reload(NumberedFrame, tag=54):
    """Request to read the configuration of the router again."""

    router: OptionalName = ""  # the name of that router, as a confirmation; a client of version 4 gives none


class Reloaded(NumberedFrame, tag=55):
    """The configuration was read again: what has changed, one text for each key."""

    changes: Annotated[list[Reason], Meta(max_length=MAX_CHANGES)]
