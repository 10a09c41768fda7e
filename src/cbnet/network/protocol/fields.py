"""Types of the members of frames, with their limits, and the arrays inside frames.

All limits are checked when a frame is decoded (`wire`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from cbnet.errors import InputError
from cbnet.language.limits import MAX_FILTER_BYTES

MAX_NAME_LENGTH = 64
MAX_VALUES = 4_096  # of a message; objects and arrays count too
MAX_NAME_CHARACTERS = 1 << 20  # of all values of a nested message, with their paths
MAX_TAGS = 1_024
MAX_PAYLOAD_BYTES = 1 << 19
MAX_NEIGHBOURS = 1_000
MAX_FRAME_FILTERS = 4_096  # larger announcements are sent in parts
MAX_FRAME_STREAMS = 4_096
MAX_SESSIONS = 16  # of two routers at once
MAX_TREES = 64
MAX_WAITING_LINKS = 16  # that a router reports of a stream
MAX_HELD = 64  # contents of streams that outlive a session
MAX_TRIES = 3  # a packet is committed to a tree again, after the first time
MAX_PREDICATE_LENGTH = 1 << 16
MAX_ENTRIES = 2_048
MAX_ROUTERS = 5_000
MAX_GATEWAYS = 64  # on the path from the root of the gateway tree
MAX_WEIGHT = 1_000_000
MAX_HOPS = 255
MAX_CREDIT_HOPS = 14  # packets of more hops are sent without credit, and are lossy
MAX_REASON_LENGTH = 500
# Reasons of a branch without a filter to name.
CAME_FROM_THERE = "the message came from there"
NOT_KNOWN = "what its side wants is not known yet"
LINK_DOWN = "its side may want it, but the link is down"
MAX_EXAMPLES = 3  # that a report lists of many
MAX_BRANCHES = 100
MAX_PEERS = 1_000
MAX_STATUS_INTERFACES = 1_000
MAX_COUNTERS = 200
MAX_REQUEST_BYTES = 1 << 12
MAX_REQUEST_TERMS = 64  # values and tags of a request
MAX_HOLDERS = 64  # asked for one item
MAX_VISITED_ROUTERS = 256  # by one request
MAX_STEPS = 1_000  # of a traced request and its reply
MAX_TOKEN_LENGTH = 128
MAX_HOMES = 2_048  # routers with durable subscriptions
MAX_HOME_RECORDS = 2 * MAX_HOMES  # with those that have none any more

MAX_SECONDS = 3_600.0  # that a client waits for an answer
MAX_INT = 2**63 - 1
MAX_SEQUENCE = MAX_INT
_MAX_FLOAT = 1.7976931348623157e308

Number: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_INT)]
NodeName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_LENGTH)]
OptionalName: TypeAlias = Annotated[str, Meta(max_length=MAX_NAME_LENGTH)]
Hops: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_HOPS)]
Reason: TypeAlias = Annotated[str, Meta(max_length=MAX_REASON_LENGTH)]
Code: TypeAlias = Annotated[int, Meta(ge=0, le=65_535)]  # of a reason; see `reasons`
Routers: TypeAlias = Annotated[list[NodeName], Meta(max_length=MAX_ROUTERS)]
Texts: TypeAlias = Annotated[list[Reason], Meta(max_length=MAX_EXAMPLES + 1)]
PredicateText: TypeAlias = Annotated[str, Meta(max_length=MAX_PREDICATE_LENGTH)]
FilterBytes: TypeAlias = Annotated[bytes, Meta(max_length=MAX_FILTER_BYTES)]
ContentDigest: TypeAlias = Annotated[bytes, Meta(min_length=16, max_length=16)]  # see `byte_form.filters_digest`
Filters: TypeAlias = Annotated[list[FilterBytes], Meta(max_length=MAX_FRAME_FILTERS)]
StreamFilters: TypeAlias = Annotated[list[Annotated[int, Meta(ge=0)]], Meta(max_length=2 * MAX_FRAME_FILTERS)]
TreeNumber: TypeAlias = Annotated[int, Meta(ge=0, lt=MAX_TREES)]
Tries: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_TRIES)]
# Routers known that cannot be reached, and links, as in r1→r2, over which a change was not acknowledged.
LinkName: TypeAlias = Annotated[str, Meta(max_length=2 * MAX_NAME_LENGTH + 1)]
Unanswered: TypeAlias = Annotated[list[LinkName], Meta(max_length=MAX_ROUTERS)]
Weight: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_WEIGHT)]
GatewayPath: TypeAlias = Annotated[list[NodeName], Meta(max_length=MAX_GATEWAYS)]
Weights: TypeAlias = Annotated[dict[NodeName, Weight], Meta(max_length=MAX_NEIGHBOURS)]

# The bounds of floats exclude the infinities, and NaN, which compares false with both.
Scalar: TypeAlias = (
    bool
    | Annotated[int, Meta(ge=-MAX_INT - 1, le=MAX_INT)]
    | Annotated[float, Meta(ge=-_MAX_FLOAT, le=_MAX_FLOAT)]
    | str
    | None
)
FlatAttributes: TypeAlias = Annotated[dict[str, Scalar], Meta(max_length=MAX_VALUES)]
# What is inside objects and arrays is checked apart: `nested_values`.
Attributes: TypeAlias = Annotated[dict[str, Scalar | list[Any] | dict[str, Any]], Meta(max_length=MAX_VALUES)]
Tags: TypeAlias = Annotated[list[str], Meta(max_length=MAX_TAGS)]
Payload: TypeAlias = Annotated[bytes, Meta(max_length=MAX_PAYLOAD_BYTES)]

RequestBytes: TypeAlias = Annotated[bytes, Meta(max_length=MAX_REQUEST_BYTES)]  # see `request_codec`
Keep: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_INT)] | None  # ms that a reply may be cached; None: no limit
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=MAX_SECONDS)]


def check_name(what: str, name: str) -> None:
    """Raise an `InputError` unless the name of a router, network, client or gateway is valid."""
    if not 1 <= len(name) <= MAX_NAME_LENGTH or not name.isprintable():
        hint = f"use 1 to {MAX_NAME_LENGTH} printable characters"
        raise InputError(f"{name!r} is not a valid {what} name", hint=hint)


class Part(Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """A frame or a part of one: an array."""


class LinkField(Part):
    """A link to a neighbour: its length, and the sessions that are open."""

    weight: Weight
    sessions: Annotated[list[Number], Meta(min_length=1, max_length=MAX_SESSIONS)]


Neighbours: TypeAlias = Annotated[dict[NodeName, LinkField], Meta(max_length=MAX_NEIGHBOURS)]


class RecordEntry(Part):
    """Owner and version of a record."""

    owner: NodeName
    incarnation: Number
    sequence: Number


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


class TraceMark(Part):
    """The mark of a traced packet."""

    number: Number  # of the trace, at the packet's source, which collects the reports
    is_dry: bool  # nothing is delivered
    predicate: PredicateText = ""  # of a hypothetical subscriber
    at: Annotated[str, Meta(max_length=64)] = ""  # the router of that subscriber


class DurableMark(Part):
    """The mark of a message whose publisher waits until it is stored; `incarnation` is that of the publisher."""

    floor: Number  # all messages of the publisher below are settled
    # The homes that must store it, each with the number of the message to store there before; 0: none.
    homes: Annotated[dict[NodeName, Number], Meta(max_length=MAX_HOMES)]
    is_repeated: bool  # sent again: only toward these homes


class Branch(Part):
    """How a router handled a traced packet for one neighbour on its tree, and why."""

    neighbour: NodeName
    is_sent: bool
    routers: Number  # on its side of the tree
    why: Texts  # the filter of its side that matched, or the nearest misses, or another reason


class Hop(Part):
    """How a router handled a traced packet."""

    router: NodeName
    came_from: Annotated[str, Meta(max_length=64)]  # "" at the source
    hops: Hops
    dropped: Reason  # "" if it was forwarded
    tree: Number
    root: Annotated[str, Meta(max_length=MAX_NAME_LENGTH)]  # of this tree; "" if the router knows no such tree
    branches: Annotated[list[Branch], Meta(max_length=MAX_BRANCHES)]  # those it was sent to come first
    delivered: Texts  # local subscriptions, each with the filter that matched
    missed: Texts  # nearest misses among the other local subscriptions
    hypothetical: Texts  # whether the hypothetical subscriber receives it, and why
    passed_to: Annotated[
        list[Branch], Meta(max_length=MAX_BRANCHES)
    ] = []  # other networks, by a gateway at this router
    network: Annotated[str, Meta(max_length=64)] = ""  # of the router; "" for that of the packet's first router


class StepField(Part):
    """How a router handled a traced request or its reply."""

    router: NodeName
    what: Annotated[str, Meta(max_length=100)]
    network: Annotated[str, Meta(max_length=64)] = ""  # of the router; "" for that of the requester


Steps: TypeAlias = Annotated[list[StepField], Meta(max_length=MAX_STEPS)] | None  # None: not traced


class ItemField(Part):
    """A holder's item: a message, and how many ms it may be cached."""

    attributes: Attributes
    tags: Tags
    payload: Payload
    keep: Keep


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
