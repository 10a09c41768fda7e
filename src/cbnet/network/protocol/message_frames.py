"""Frames of messages: packets, subscriptions, publications and deliveries; requests, replies and offers."""

from __future__ import annotations

from typing import Annotated, TypeAlias, TypeVar

from msgspec import Meta
from msgspec.structs import replace

from cbnet.network.protocol.fields import (
    MAX_BRANCHES,
    MAX_ENTRIES,
    MAX_HOLDERS,
    MAX_HOMES,
    MAX_STEPS,
    MAX_VISITED_ROUTERS,
    Attributes,
    Frame,
    GatewayPath,
    Hops,
    IdentifiedFrame,
    Keep,
    NodeName,
    Number,
    NumberedFrame,
    NumberedMessage,
    OptionalName,
    Part,
    Payload,
    PredicateText,
    Reason,
    Registered,
    RegistrationFrame,
    RequestBytes,
    RequiredNames,
    Seconds,
    Tags,
    Texts,
    TreeNumber,
    Tries,
    Unanswered,
    UnicastFrame,
)

HolderCount: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_HOLDERS)]
HolderLimit: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_HOLDERS)]
Visited: TypeAlias = Annotated[list[NodeName], Meta(max_length=MAX_VISITED_ROUTERS)]
CacheName: TypeAlias = OptionalName  # the router whose cache replied; "" for a holder


class TraceMark(Part):
    """The mark of a traced packet."""

    number: Number  # of the trace, at the packet's source, which collects the reports
    is_dry: bool  # nothing is delivered
    predicate: PredicateText = ""  # of a hypothetical subscriber
    at: OptionalName = ""  # the router of that subscriber


class DurableMark(Part):
    """The mark of a message whose publisher waits until it is stored; `incarnation` is that of the publisher."""

    floor: Number  # all messages of the publisher below are settled
    # The homes that must store it, each with the number of the message to store there before; 0: none.
    homes: Annotated[dict[NodeName, Number], Meta(max_length=MAX_HOMES)]
    is_repeated: bool  # sent again: only toward these homes
    account: OptionalName = ""  # of the publisher
    required: RequiredNames | None = None  # as in `DurablePublish`


class Packet(Frame, tag=10):
    """A message between routers, identified by source, incarnation and number."""

    source: NodeName
    incarnation: Number
    number: Number
    hops: Hops
    tree: TreeNumber
    side: Number  # hash of the nodes that it is for, on the receiver's side of the tree
    tries: Tries  # how often it was committed to a tree again
    attributes: Attributes
    tags: Tags
    payload: Payload
    mark: TraceMark | None = None
    origin: OptionalName = ""  # source in another domain; `source` is then the gateway
    durable: DurableMark | None = None


# --- client to router


class Subscribe(RegistrationFrame, tag=20):
    """Register a subscription, or replace the one with this id."""

    is_initial: bool = False  # subscribe to deliveries to the node's initial predicate instead
    group: OptionalName = ""  # queue group: each message goes to one of its members; empty: to this one, too


class Unsubscribe(IdentifiedFrame, tag=21):
    """Remove a subscription."""


class Publish(NumberedMessage, tag=22):
    """Publish a message."""

    wants_answer: bool


class Trace(NumberedMessage, tag=23):
    """Publish a message and report its path; if `is_dry`, without delivering it."""

    is_dry: bool
    predicate: PredicateText
    at: OptionalName


# --- router to client


class Subscribed(Registered, tag=30):
    """Confirmation of a subscription."""


class Unsubscribed(IdentifiedFrame, tag=31):
    """Confirmation that a subscription was removed."""


class Published(NumberedFrame, tag=32):
    """Acknowledgement of a published message."""


class Deliver(Frame, tag=36):
    """A message for some of the client's subscriptions."""

    subscriptions: Annotated[list[Number], Meta(max_length=MAX_ENTRIES)]
    source: NodeName
    incarnation: Number
    number: Number
    attributes: Attributes
    tags: Tags
    payload: Payload


# --- traces


class Branch(Part):
    """How a router handled a traced packet for one neighbour on its tree, and why."""

    neighbour: NodeName
    is_sent: bool
    routers: Number  # on its side of the tree
    why: Texts  # the filter of its side that matched, or the nearest misses, or another reason


class Hop(Part):
    """How a router handled a traced packet."""

    router: NodeName
    came_from: OptionalName  # "" at the source
    hops: Hops
    dropped: Reason  # "" if it was forwarded
    tree: Number
    root: OptionalName  # of this tree; "" if the router knows no such tree
    branches: Annotated[list[Branch], Meta(max_length=MAX_BRANCHES)]  # those it was sent to come first
    delivered: Texts  # local subscriptions, each with the filter that matched
    missed: Texts  # nearest misses among the other local subscriptions
    hypothetical: Texts  # whether the hypothetical subscriber receives it, and why
    # Other networks, by a gateway at this router.
    passed_to: Annotated[list[Branch], Meta(max_length=MAX_BRANCHES)] = []  # noqa: RUF012  # msgspec copies it
    network: OptionalName = ""  # of the router; "" for that of the packet's first router
    # Members of queue groups that match, each with the one that gets the message in its place.
    passed_over: Texts = []  # noqa: RUF012  # msgspec copies it


class TraceReport(UnicastFrame, tag=13):
    """A hop of a traced packet, sent to the router where the trace began."""

    number: Number
    hop: Hop


class TracedFrame(NumberedFrame, tag=33):
    """A hop of a traced packet, sent to the client."""

    hop: Hop


class TraceEnd(NumberedFrame, tag=34):
    """End of a trace, with the routers that should have reported and did not."""

    missing: Unanswered


# --- pull: requests and replies between routers


class StepField(Part):
    """How a router handled a traced request or its reply."""

    router: NodeName
    what: Annotated[str, Meta(max_length=100)]
    network: OptionalName = ""  # of the router; "" for that of the requester


Steps: TypeAlias = Annotated[list[StepField], Meta(max_length=MAX_STEPS)] | None  # None: not traced


class ItemField(Part):
    """A holder's item: a message, and how many ms it may be cached."""

    attributes: Attributes
    tags: Tags
    payload: Payload
    keep: Keep


class Request(Frame, tag=14):
    """A request on its way along a tree to a holder."""

    source: NodeName  # the requester's router; with incarnation and number the locator for the reply
    incarnation: Number
    number: Number
    request: RequestBytes
    tree: TreeNumber
    visited: Visited  # routers, which are not visited again
    path: Visited  # the way back
    tried: Number  # routers with a matching offer
    asked: HolderCount  # holders that lack the item
    max_holders: HolderLimit
    timeout: Number  # ms until the requester stops waiting
    is_fresh: bool  # no cache may reply
    steps: Steps = None
    # Those that have taken it from one domain to another, and do not take it again.
    gateways: GatewayPath = []  # noqa: RUF012  # msgspec copies it for each frame


class ReplyFrame(UnicastFrame, tag=15):
    """A holder's reply on its path to the requester's router."""

    incarnation: Number
    number: Number
    request: RequestBytes
    attributes: Attributes
    tags: Tags
    payload: Payload
    holder: NodeName  # the holder's router
    cache: CacheName
    age: Number  # ms in caches
    keep: Keep
    asked: HolderCount  # holders asked for this request
    steps: Steps = None


class NoItem(UnicastFrame, tag=16):
    """No holder that was asked has the item, and no other will be asked."""

    incarnation: Number
    number: Number
    tried: Number  # routers with a matching offer
    asked: HolderCount
    steps: Steps = None


# --- client to router


class OfferFrame(RegistrationFrame, tag=26):
    """Register an offer to answer matching requests, or replace the one with this id."""


class Withdraw(IdentifiedFrame, tag=27):
    """Remove an offer."""


class PullFrame(NumberedFrame, tag=28):
    """Request a reply."""

    request: RequestBytes
    timeout: Seconds
    max_holders: HolderLimit
    is_fresh: bool  # no cache may reply
    is_traced: bool


class Answer(NumberedFrame, tag=29):
    """A holder's answer to a `HolderRequest`: an item, or none."""

    item: ItemField | None


# --- router to client


class Offered(Registered, tag=40):
    """Confirmation of an offer."""


class Withdrawn(IdentifiedFrame, tag=41):
    """Confirmation that an offer was removed."""


class HolderRequest(NumberedFrame, tag=42):
    """A request that matches an offer of this client."""

    offer: Number  # its id
    request: RequestBytes


class PullReply(NumberedMessage, tag=43):
    """The reply to a client's request."""

    holder: NodeName  # the holder's router
    cache: CacheName
    age: Number  # ms in caches
    asked: Number  # holders
    steps: Steps


class PullFailure(NumberedFrame, tag=44):
    """No reply to a client's request, or none in time."""

    is_late: bool
    tried: Number  # routers with a matching offer
    asked: Number  # holders
    steps: Steps


PullMessage = TypeVar("PullMessage", Request, ReplyFrame, NoItem)
REPLY_STEP = "reply received"  # the step of every router on the path of a reply
_MAX_STEP_LENGTH = 100


def with_step(frame: PullMessage, router: str, what: str) -> PullMessage:
    """Return a frame with a router's step appended, if it is traced: routers keep no state per request."""
    before: list[StepField] | None = frame.steps
    if before is None or len(before) >= MAX_STEPS:
        return frame
    text = what if len(what) <= _MAX_STEP_LENGTH else what[: _MAX_STEP_LENGTH - 1] + "…"
    return replace(frame, steps=before + [StepField(router, text)])  # noqa: RUF005
