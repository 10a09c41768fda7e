"""Frames of publish and subscribe: packets between routers, subscriptions, publications and deliveries."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from cbnet.network.protocol.fields import (
    MAX_ENTRIES,
    Attributes,
    DurableMark,
    Hop,
    Hops,
    NodeName,
    Number,
    Payload,
    PredicateText,
    Seconds,
    Tags,
    TraceMark,
    TreeNumber,
    Tries,
    Unanswered,
)
from cbnet.network.protocol.frame import FrameBase, FrameNumber


class Packet(FrameBase, tag=FrameNumber.PACKET.value):
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


class Subscribe(FrameBase, tag=FrameNumber.SUBSCRIBE.value):
    """Register a subscription, or replace the one with this id."""

    id: Number
    predicate: PredicateText
    wait: Seconds  # timeout for confirmation by all routers; 0: do not wait
    is_initial: bool = False  # subscribe to deliveries to the node's initial predicate instead


class Unsubscribe(FrameBase, tag=FrameNumber.UNSUBSCRIBE.value):
    """Remove a subscription."""

    id: Number


class Publish(FrameBase, tag=FrameNumber.PUBLISH.value):
    """Publish a message."""

    number: Number
    attributes: Attributes
    tags: Tags
    payload: Payload
    wants_answer: bool


class Trace(FrameBase, tag=FrameNumber.TRACE.value):
    """Publish a message and report its path; if `is_dry`, without delivering it."""

    number: Number
    attributes: Attributes
    tags: Tags
    payload: Payload
    is_dry: bool
    predicate: PredicateText
    at: Annotated[str, Meta(max_length=64)]


# --- router to client


class Subscribed(FrameBase, tag=FrameNumber.SUBSCRIBED.value):
    """Confirmation of a subscription; if the client waits, whether every reachable router that must know it does."""

    id: Number
    is_confirmed: bool
    routers: Number  # reachable, including this one
    missing: Unanswered


class Unsubscribed(FrameBase, tag=FrameNumber.UNSUBSCRIBED.value):
    """Confirmation that a subscription was removed."""

    id: Number


class Published(FrameBase, tag=FrameNumber.PUBLISHED.value):
    """Acknowledgement of a published message."""

    number: Number


class Deliver(FrameBase, tag=FrameNumber.DELIVER.value):
    """A message for some of the client's subscriptions."""

    subscriptions: Annotated[list[Number], Meta(max_length=MAX_ENTRIES)]
    source: NodeName
    incarnation: Number
    number: Number
    attributes: Attributes
    tags: Tags
    payload: Payload


# --- traces


class TraceReport(FrameBase, tag=FrameNumber.TRACE_REPORT.value):
    """A hop of a traced packet, sent to the router where the trace began."""

    to: NodeName
    hops: Hops
    number: Number
    hop: Hop


class TracedFrame(FrameBase, tag=FrameNumber.TRACED.value):
    """A hop of a traced packet, sent to the client."""

    number: Number
    hop: Hop


class TraceEnd(FrameBase, tag=FrameNumber.TRACE_END.value):
    """End of a trace, with the routers that should have reported and did not."""

    number: Number
    missing: Unanswered
