"""Frame parts: what may the members of frames be, and how long? Their types, and arrays inside them.

All of it is checked while a frame is read (`wire`).
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from cbnet.errors import InputError

MAX_NAME_LENGTH = 64
MAX_ATTRIBUTES = 256
MAX_TAGS = 1_024
MAX_PAYLOAD_BYTES = 1 << 19  # bytes
MAX_NEIGHBOURS = 1_000
MAX_FRAME_FILTERS = 4_096  # in one frame; a predicate of more comes in parts
MAX_FILTER_BYTES = 1 << 14  # bytes
MAX_PREDICATE_LENGTH = 1 << 16  # characters of a predicate's text
MAX_ENTRIES = 2_048
MAX_ROUTERS = 5_000
MAX_GATEWAYS = 64  # on the way from the root of the tree between domains
MAX_WEIGHT = 1_000_000
MAX_HOPS = 255
MAX_REASON_LENGTH = 500
MAX_EXAMPLES = 3  # of many in a report
MAX_BRANCHES = 100
MAX_PEERS = 1_000
MAX_COUNTERS = 200
MAX_REQUEST_BYTES = 1 << 12  # bytes
MAX_REQUEST_TERMS = 64  # values and tags of a request
MAX_HOLDERS = 64  # that are asked for one item
MAX_TRIED_ROUTERS = 64  # routers of holders that are tried for one item
MAX_STEPS = 1_000  # of a traced request and its reply
MAX_TOKEN_LENGTH = 128  # characters

MAX_INT = 2**63 - 1
MAX_SEQUENCE = MAX_INT
_MAX_FLOAT = 1.7976931348623157e308

Number: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_INT)]
NodeName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_LENGTH)]
Hops: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_HOPS)]
Reason: TypeAlias = Annotated[str, Meta(max_length=MAX_REASON_LENGTH)]
Routers: TypeAlias = Annotated[list[NodeName], Meta(max_length=MAX_ROUTERS)]
Texts: TypeAlias = Annotated[
    list[Annotated[str, Meta(max_length=MAX_REASON_LENGTH)]], Meta(max_length=MAX_EXAMPLES + 1)
]
PredicateText: TypeAlias = Annotated[str, Meta(max_length=MAX_PREDICATE_LENGTH)]
Filters: TypeAlias = Annotated[
    list[Annotated[bytes, Meta(max_length=MAX_FILTER_BYTES)]], Meta(max_length=MAX_FRAME_FILTERS)
]
FilterKind: TypeAlias = Annotated[int, Meta(ge=1, le=2)]  # of a record that holds filters; see `records.RecordKind`
Weight: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_WEIGHT)]
GatewayPath: TypeAlias = Annotated[list[NodeName], Meta(max_length=MAX_GATEWAYS)]
Neighbours: TypeAlias = Annotated[dict[NodeName, Weight], Meta(max_length=MAX_NEIGHBOURS)]

# Of both the largest float excludes infinity and, as it is not less, NaN.
Scalar: TypeAlias = (
    bool
    | Annotated[int, Meta(ge=-MAX_INT - 1, le=MAX_INT)]
    | Annotated[float, Meta(ge=-_MAX_FLOAT, le=_MAX_FLOAT)]
    | str
)
Attributes: TypeAlias = Annotated[dict[str, Scalar], Meta(max_length=MAX_ATTRIBUTES)]
Tags: TypeAlias = Annotated[list[str], Meta(max_length=MAX_TAGS)]
Payload: TypeAlias = Annotated[bytes, Meta(max_length=MAX_PAYLOAD_BYTES)]
WireHeader: TypeAlias = NodeName | Routers  # a scheme's header, with names of nodes; see `headers`

RequestBytes: TypeAlias = Annotated[bytes, Meta(max_length=MAX_REQUEST_BYTES)]  # a request as a filter; see `requested`
Keep: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_INT)] | None  # ms for which a reply may be cached; None: any
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=3_600)]


def check_name(what: str, name: str) -> None:
    """Raise an `InputError` for a name that is too long, empty or not printable; `what` has it."""
    if not 1 <= len(name) <= MAX_NAME_LENGTH or not name.isprintable():
        hint = f"use 1 to {MAX_NAME_LENGTH} printable characters"
        raise InputError(f"{name!r} is not a valid {what} name", hint=hint)


# --- parts


class Part(Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """A part of a frame: an array."""


class Entry(Part):
    """A record that a router has: whose, of which kind, which version."""

    owner: NodeName
    kind: Annotated[int, Meta(ge=0, le=2)]  # see `records.RecordKind`
    life: Number
    sequence: Number


class Mark(Part):
    """What makes a packet a traced one."""

    number: Number  # of the trace, at the router that wants the reports: the packet's source
    is_dry: bool  # nothing is delivered
    predicate: PredicateText = ""  # as if somebody with this predicate
    at: Annotated[str, Meta(max_length=64)] = ""  # were at this router


class Branch(Part):
    """What a router did with a traced packet toward a neighbour, and why."""

    neighbour: NodeName
    is_sent: bool
    toward: Annotated[list[NodeName], Meta(max_length=MAX_EXAMPLES)]  # nodes beyond it that want the message
    wanting: Number  # how many there are
    why: Texts  # the filters that matched; or what came closest


class Hop(Part):
    """What a router did with a traced packet."""

    router: NodeName
    came_from: Annotated[str, Meta(max_length=64)]  # "" at the source
    hops: Hops
    dropped: Reason  # "" if it was not
    branches: Annotated[list[Branch], Meta(max_length=MAX_BRANCHES)]  # those that it was sent to first
    delivered: Texts  # to which local subscriptions, each with the filter that matched
    missed: Texts  # what came closest among the other local subscriptions
    supposed: Texts  # whether the supposed subscriber gets it, and why, at its router


class Step(Part):
    """What a router did with a traced request, or with its reply."""

    router: NodeName
    what: Annotated[str, Meta(max_length=100)]


Steps: TypeAlias = Annotated[list[Step], Meta(max_length=MAX_STEPS)] | None  # None: not traced


class Item(Part):
    """What a holder has: a message, and for how many ms it may be cached."""

    attributes: Attributes
    tags: Tags
    payload: Payload
    keep: Keep


class Peer(Part):
    """A link of a router, and what went over it."""

    name: NodeName
    role: Literal["router", "client"]
    received: Number  # bytes
    sent: Number  # bytes
    waiting: Number  # bytes that the other side has not taken yet
    dropped: Number  # messages, because it read too slowly
