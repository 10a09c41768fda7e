"""Frames of publish and subscribe: packets between routers, subscriptions, publications and deliveries."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from cbnet.network.protocol.fields import (
    MAX_BRANCHES,
    MAX_ENTRIES,
    MAX_HOMES,
    MAX_NAME_LENGTH,
    Attributes,
    Frame,
    Hops,
    IdentifiedFrame,
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
    RequiredNames,
    Tags,
    Texts,
    TreeNumber,
    Tries,
    Unanswered,
    UnicastFrame,
)


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
    origin: Annotated[str, Meta(max_length=64)] = ""  # source in another domain; `source` is then the gateway
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
    at: Annotated[str, Meta(max_length=64)]


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
    came_from: Annotated[str, Meta(max_length=64)]  # "" at the source
    hops: Hops
    dropped: Reason  # "" if it was forwarded
    tree: Number
    root: Annotated[str, Meta(max_length=MAX_NAME_LENGTH)]  # of this tree; "" if the router knows no such tree
    branches: Annotated[list[Branch], Meta(max_length=MAX_BRANCHES)]  # those it was sent to come first
    delivered: Texts  # local subscriptions, each with the filter that matched
    missed: Texts  # nearest misses among the other local subscriptions
    hypothetical: Texts  # whether the hypothetical subscriber receives it, and why
    # Other networks, by a gateway at this router.
    passed_to: Annotated[list[Branch], Meta(max_length=MAX_BRANCHES)] = []  # noqa: RUF012  # msgspec copies it
    network: Annotated[str, Meta(max_length=64)] = ""  # of the router; "" for that of the packet's first router
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
