"""Base classes of frames, and the types of their members with their limits.

A frame is an array whose first member is the number of its kind. The types of the other members are checked while the
frame is decoded, so that nothing behind `wire` sees a list that is too long or a number out of range.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from cbnet.errors import InputError
from cbnet.language.predicate import MAX_FILTER_BYTES, Limits

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
PREDICATE_LIMITS = Limits(length=MAX_PREDICATE_LENGTH, filters=1_000, constraints=10_000)
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
MAX_GROUPS = 4_096  # queue groups of the clients of a router
MAX_HOMES = 2_048  # routers with durable subscriptions
MAX_HOME_RECORDS = 2 * MAX_HOMES  # with those that have none any more
MAX_REQUIRED = 64  # subscriptions that a durable message names

MAX_SECONDS = 3_600.0  # that a client waits for an answer
MAX_INT = 2**63 - 1
MAX_SEQUENCE = MAX_INT
_MAX_FLOAT = 1.7976931348623157e308

Number: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_INT)]
NodeName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_LENGTH)]
AddressText: TypeAlias = Annotated[str, Meta(max_length=300)]  # that clients connect to; empty: not known
OptionalName: TypeAlias = Annotated[str, Meta(max_length=MAX_NAME_LENGTH)]
DurableName: TypeAlias = tuple[OptionalName, NodeName]  # account, and name of a durable subscription
RequiredNames: TypeAlias = Annotated[list[DurableName], Meta(max_length=MAX_REQUIRED)]
Hops: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_HOPS)]
Reason: TypeAlias = Annotated[str, Meta(max_length=MAX_REASON_LENGTH)]
Code: TypeAlias = Annotated[int, Meta(ge=0, le=65_535)]  # of a reason; see `reasons`
Texts: TypeAlias = Annotated[list[Reason], Meta(max_length=MAX_EXAMPLES + 1)]
PredicateText: TypeAlias = Annotated[str, Meta(max_length=MAX_PREDICATE_LENGTH)]
FilterBytes: TypeAlias = Annotated[bytes, Meta(max_length=MAX_FILTER_BYTES)]
ContentDigest: TypeAlias = Annotated[bytes, Meta(min_length=16, max_length=16)]  # see `byte_form.filters_digest`
Signature: TypeAlias = Annotated[bytes, Meta(max_length=64)]  # of a record by its owner; empty: none
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
# What is inside objects and arrays is checked apart: `content`.
Attributes: TypeAlias = Annotated[dict[str, Scalar | list[Any] | dict[str, Any]], Meta(max_length=MAX_VALUES)]
Tags: TypeAlias = Annotated[list[str], Meta(max_length=MAX_TAGS)]
Payload: TypeAlias = Annotated[bytes, Meta(max_length=MAX_PAYLOAD_BYTES)]

RequestBytes: TypeAlias = Annotated[bytes, Meta(max_length=MAX_REQUEST_BYTES)]  # see `request_codec`
Keep: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_INT)] | None  # ms that a reply may be cached; None: no limit
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=MAX_SECONDS)]


_ABOUT_RECORD = frozenset(("owner", "incarnation", "sequence", "age", "signature"))


def check_name(what: str, name: str) -> None:
    """Raise an `InputError` unless the name of a router, network, client or gateway is valid."""
    if not 1 <= len(name) <= MAX_NAME_LENGTH or not name.isprintable():
        hint = f"use 1 to {MAX_NAME_LENGTH} printable characters"
        raise InputError(f"{name!r} is not a valid {what} name", hint=hint)


class Part(Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """A frame or a part of one: an array."""


class Frame(Part, tag=True):
    """An array that begins with the number of its kind of frame."""


class NumberedFrame(Frame):
    """A query or a message of a client, or an answer, with the number of the call."""

    number: Number


class IdentifiedFrame(Frame):
    """A frame about a subscription or an offer of a client."""

    id: Number


class UnicastFrame(Frame):
    """A frame for one router, forwarded hop by hop."""

    to: NodeName
    hops: Hops


class RecordFrame(Frame):
    """A record that its owner floods to all routers."""

    owner: NodeName
    incarnation: Number  # of the router that made this version
    sequence: Number

    @property
    def content(self) -> tuple[Any, ...]:
        """All but owner, version, age and signature."""
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name not in _ABOUT_RECORD)


class RegistrationFrame(IdentifiedFrame):
    """A predicate that a client registers, or replaces, by its id."""

    predicate: PredicateText
    wait: Seconds  # timeout for confirmation by all routers; 0: do not wait


class Registered(IdentifiedFrame):
    """Confirmation of a registration; if the client waits, whether every reachable router that must know it does."""

    is_confirmed: bool
    routers: Number  # reachable, including this one
    missing: Unanswered


class NumberedMessage(NumberedFrame):
    """A message of a client, or for one, with the number of the call."""

    attributes: Attributes
    tags: Tags
    payload: Payload
