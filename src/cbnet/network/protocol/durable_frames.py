"""Frames of durable subscriptions: home records, acknowledged publishing, deliveries with offsets."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

from msgspec import Meta
from msgspec.structs import replace

from cbnet.errors import InputError
from cbnet.network.protocol.fields import (
    MAX_ENTRIES,
    MAX_FRAME_FILTERS,
    MAX_HOME_RECORDS,
    MAX_HOMES,
    Attributes,
    Filters,
    Hops,
    NodeName,
    Number,
    Part,
    Payload,
    PredicateText,
    Reason,
    RecordEntry,
    Seconds,
    Tags,
)
from cbnet.network.protocol.frame import FrameBase, FrameNumber
from cbnet.network.protocol.history_frames import HistoryField, HistoryStart

MAX_CONTENT_BYTES = 1 << 20  # of a stored message
MAX_ACK_WAIT = 86_400  # seconds
MAX_PROBLEMS = 1_000  # homes that an answer names

AddressText: TypeAlias = Annotated[str, Meta(max_length=300)]
Age: TypeAlias = Annotated[float, Meta(ge=0)]  # seconds
Policy: TypeAlias = Literal["refuse", "drop oldest"]
DurableName: TypeAlias = tuple[str, NodeName]  # account, and name of a durable subscription
SubscriptionNames: TypeAlias = Annotated[list[DurableName], Meta(max_length=MAX_FRAME_FILTERS)]


class DurableLimits(Part):
    """What a durable subscription keeps at most, and what happens beyond; 0: no limit."""

    messages: Number = 0
    bytes: Number = 0  # of their contents
    age: Age = 0.0
    policy: Policy = "refuse"

    def __post_init__(self) -> None:
        """Raise an `InputError` if a limit is invalid."""
        for name, kind in (("messages", int), ("bytes", int), ("age", int | float)):
            value = getattr(self, name)
            if not isinstance(value, kind) or not value >= 0:
                raise InputError(f"invalid limit {name}={value!r}", hint="use a number, or 0 for no limit")
        if self.policy not in get_args(Policy):
            raise InputError(f"unknown policy {self.policy!r}", hint=f"use {' or '.join(get_args(Policy))}")

    def __str__(self) -> str:
        """Return a text such as `2 messages, 60 s (drop oldest)`."""
        parts = [
            *([f"{self.messages:,} {'message' if self.messages == 1 else 'messages'}"] if self.messages else []),
            *([f"{self.bytes:,} bytes"] if self.bytes else []),
            *([f"{self.age:g} s"] if self.age else []),
        ]
        policy = f" ({self.policy})" if parts or self.policy != "refuse" else ""
        return (", ".join(parts) or "no limits") + policy


NO_LIMITS = DurableLimits()


# --- between routers


class HomeRecord(FrameBase, tag=FrameNumber.HOME_RECORD.value):
    """The durable subscriptions of a router, their home."""

    owner: NodeName
    incarnation: Number  # of the router that made this version
    sequence: Number
    address: AddressText  # that clients connect to
    names: SubscriptionNames  # of the subscriptions: account and name
    filters: Filters  # of all


class HomeSummary(FrameBase, tag=FrameNumber.HOME_SUMMARY.value):
    """The versions of home records that a router has."""

    entries: Annotated[list[RecordEntry], Meta(max_length=MAX_HOME_RECORDS)]
    is_complete: bool  # else the sender has just started, and may learn of others


class HomeRequest(FrameBase, tag=FrameNumber.HOME_REQUEST.value):
    """Home records that a router lacks; only the owners of the entries count."""

    entries: Annotated[list[RecordEntry], Meta(max_length=MAX_HOME_RECORDS)]


class HomeAck(FrameBase, tag=FrameNumber.HOME_ACK.value):
    """Acknowledgement that a router has a version of a home record, sent to its owner."""

    to: NodeName
    hops: Hops
    router: NodeName
    incarnation: Number
    sequence: Number


class StoredEntry(Part):
    """A message that a home has on disk, or cannot store."""

    incarnation: Number  # of the packet
    number: Number  # of the packet
    subscriptions: Number  # durable ones that have it
    dropped: Number  # messages that had to make room for it
    problem: Reason  # why it is not stored; empty if it is


class Stored(FrameBase, tag=FrameNumber.STORED.value):
    """Messages that a home has stored, sent to the router where they were published."""

    to: NodeName
    hops: Hops
    home: NodeName
    entries: Annotated[list[StoredEntry], Meta(max_length=MAX_ENTRIES)]


# --- client to router


class DurableSubscribe(FrameBase, tag=FrameNumber.DURABLE_SUBSCRIBE.value):
    """Receive the messages of a durable subscription, which is created if it does not exist."""

    id: Number
    name: NodeName
    predicate: PredicateText  # empty: that of the existing subscription
    wait: Seconds  # as in `Subscribe`
    window: Annotated[int, Meta(ge=1, le=MAX_ENTRIES)]  # messages sent and not acknowledged, at most
    ack_wait: Annotated[float, Meta(gt=0, le=MAX_ACK_WAIT)]  # seconds until an unacknowledged message comes again
    limits: DurableLimits | None  # None: none for a new subscription, else those that it has
    start: HistoryStart | None = None  # where a new subscription begins in the past; None: now
    is_restored: bool = False  # sent again on a new connection: the limits may have changed meanwhile


class Acknowledge(FrameBase, tag=FrameNumber.ACKNOWLEDGE.value):
    """Acknowledge messages of a durable subscription."""

    id: Number
    offsets: Annotated[list[Number], Meta(max_length=MAX_ENTRIES)]
    up_to: Number  # also all messages up to this offset that this client received; 0: none
    losses: Number = 0  # the number of the last `DurableLost`; 0: none


class DurablePublish(FrameBase, tag=FrameNumber.DURABLE_PUBLISH.value):
    """Publish a message, answered when all matching durable subscriptions have it on disk."""

    publisher: Number  # a random number of the client, which nobody else may learn
    sequence: Annotated[int, Meta(ge=1, lt=1 << 62)]
    floor: Number  # the lowest sequence number that the client waits for
    timeout: Seconds
    attributes: Attributes
    tags: Tags
    payload: Payload


class DurableQuery(FrameBase, tag=FrameNumber.DURABLE_QUERY.value):
    """Request for the durable subscriptions of this router."""

    number: Number


class DurableRemove(FrameBase, tag=FrameNumber.DURABLE_REMOVE.value):
    """Remove a durable subscription and its messages."""

    number: Number
    name: NodeName


class DurableLimit(FrameBase, tag=FrameNumber.DURABLE_LIMIT.value):
    """Change limits of a durable subscription; None: no change."""

    number: Number
    name: NodeName
    messages: Number | None
    bytes: Number | None
    age: Age | None
    policy: Policy | None

    def applied_to(self, limits: DurableLimits) -> DurableLimits:
        """Return limits with the changes."""
        members = ((name, getattr(self, name)) for name in DurableLimits.__struct_fields__)
        return replace(limits, **{name: value for name, value in members if value is not None})


class ForgetHome(FrameBase, tag=FrameNumber.FORGET_HOME.value):
    """Remove the record of a home that will not return: nobody waits for it any more."""

    number: Number
    home: NodeName


# --- router to client


class DurableDeliver(FrameBase, tag=FrameNumber.DURABLE_DELIVER.value):
    """A message of a durable subscription."""

    id: Number
    offset: Number
    deliveries: Number  # how often it was sent, with this one
    source: NodeName
    incarnation: Number
    number: Number
    content: Annotated[bytes, Meta(max_length=MAX_CONTENT_BYTES)]  # attributes, tags and payload in an array


class DurablePublished(FrameBase, tag=FrameNumber.DURABLE_PUBLISHED.value):
    """The result of publishing a message."""

    publisher: Number
    sequence: Number
    subscriptions: Number  # durable ones that have it on disk
    dropped: Number  # messages that had to make room for it, by the policy of these subscriptions
    silent: Annotated[list[NodeName], Meta(max_length=MAX_PROBLEMS)]  # homes that did not answer in time
    refused: Annotated[list[Reason], Meta(max_length=MAX_PROBLEMS)]  # by homes, with the reason


class DurableField(Part):
    """The state of a durable subscription."""

    name: NodeName
    account: Annotated[str, Meta(max_length=64)]
    predicate: PredicateText
    limits: DurableLimits
    messages: Number  # stored and not acknowledged
    bytes: Number
    next: Number  # offset of the next message
    unacknowledged: Number  # of these messages: sent to clients
    clients: Number
    lost: Number  # messages that it did not get, in all


class DurableReport(FrameBase, tag=FrameNumber.DURABLE_REPORT.value):
    """The durable subscriptions of a router, and the other homes that it knows."""

    number: Number
    subscriptions: Annotated[list[DurableField], Meta(max_length=MAX_FRAME_FILTERS)]
    homes: Annotated[dict[NodeName, Number], Meta(max_length=MAX_HOMES)]  # with their subscriptions
    problem: Reason  # why the journal cannot be written; empty if it can
    history: HistoryField | None = None


class DurableRemoved(FrameBase, tag=FrameNumber.DURABLE_REMOVED.value):
    """Confirmation that a durable subscription, or the record of a home, was removed."""

    number: Number


class DurableLimited(FrameBase, tag=FrameNumber.DURABLE_LIMITED.value):
    """The limits of a durable subscription after a change."""

    number: Number
    limits: DurableLimits


class DurableLost(FrameBase, tag=FrameNumber.DURABLE_LOST.value):
    """Messages that a subscription with offsets does not get: because of its limits, or for another cause."""

    id: Number
    messages: Number  # 0: unknown
    cause: Reason = ""  # empty: the limits of the subscription
    number: Number = 0  # to be acknowledged; 0: not
