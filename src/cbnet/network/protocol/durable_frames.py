"""Frames of durable subscriptions and histories: home records, acknowledged publishing, deliveries with offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta

from cbnet.errors import InputError
from cbnet.network.protocol.fields import (
    MAX_ENTRIES,
    MAX_FRAME_FILTERS,
    AddressText,
    Attributes,
    DurableName,
    Filters,
    Frame,
    Hops,
    IdentifiedFrame,
    NodeName,
    Number,
    OptionalName,
    Part,
    Payload,
    PredicateText,
    Reason,
    RecordFrame,
    RegistrationFrame,
    RequiredNames,
    Seconds,
    Signature,
    Tags,
    TreeNumber,
    Tries,
    UnicastFrame,
)
from cbnet.network.protocol.message_frames import DurableMark, Packet

MAX_CONTENT_BYTES = 1 << 20  # of a stored message
MAX_ACK_WAIT = 86_400  # seconds
MAX_UNSETTLED = 1_024  # messages of one publisher, from the lowest that it waits for
MAX_PROBLEMS = 1_000  # homes that an answer names
MAX_REFUSING = 5  # subscriptions that a home names, of those that refuse a message
MAX_HISTORY_AGE = 1e10  # seconds

Age: TypeAlias = Annotated[float, Meta(ge=0)]  # seconds
HistoryAge: TypeAlias = Annotated[float, Meta(ge=0, le=MAX_HISTORY_AGE)]
Window: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_ENTRIES)]  # messages sent and not acknowledged, at most
Policy: TypeAlias = Literal["refuse", "drop oldest"]
Offsets: TypeAlias = Annotated[list[Number], Meta(max_length=MAX_ENTRIES)]
# Of a stored message: attributes, tags and payload in an array.
Content: TypeAlias = Annotated[bytes, Meta(max_length=MAX_CONTENT_BYTES)]
SubscriptionNames: TypeAlias = Annotated[list[DurableName], Meta(max_length=MAX_FRAME_FILTERS)]


class DurableLimits(Part):
    """What a durable subscription keeps at most, and what happens beyond; 0: no limit."""

    messages: Number = 0
    bytes: Number = 0  # of their contents
    age: Age = 0.0
    policy: Policy = "refuse"
    max_deliveries: Number = 0  # of one message; 0: no limit
    dead_letter: OptionalName = ""  # durable subscription that gets what exceeds `max_deliveries`; empty: it is lost

    def __post_init__(self) -> None:
        """Raise an `InputError` if a limit is invalid."""
        for name, kind in (("messages", int), ("bytes", int), ("age", int | float), ("max_deliveries", int)):
            value = getattr(self, name)
            if not isinstance(value, kind) or not value >= 0:
                raise InputError(f"invalid limit {name}={value!r}", hint="use a number, or 0 for no limit")
        if self.policy not in get_args(Policy):
            raise InputError(f"unknown policy {self.policy!r}", hint=f"use {' or '.join(get_args(Policy))}")

    def check_dead_letter(self) -> None:
        """Raise an `InputError` if dead letters have a name but no message becomes one."""
        if self.dead_letter and not self.max_deliveries:
            hint = "set max_deliveries, too, or leave both out"
            raise InputError(
                f"no message gets to the dead letters {self.dead_letter!r} without max_deliveries", hint=hint
            )

    def __str__(self) -> str:
        """Return a text such as `2 messages, 60 s (drop oldest), 5 deliveries, then to failed`."""
        parts = [
            *([f"{self.messages:,} {'message' if self.messages == 1 else 'messages'}"] if self.messages else []),
            *([f"{self.bytes:,} bytes"] if self.bytes else []),
            *([f"{self.age:g} s"] if self.age else []),
        ]
        policy = f" ({self.policy})" if parts or self.policy != "refuse" else ""
        kept = (", ".join(parts) or "no limits") + policy if parts or policy else ""
        then = f", then to {self.dead_letter}" if self.dead_letter else ""
        delivered = f"{self.max_deliveries:,} deliveries{then}" if self.max_deliveries else ""
        return ", ".join(filter(None, (kept, delivered))) or "no limits"


NO_LIMITS = DurableLimits()


class HistoryStart(Part):
    """Where a subscription begins in a history: at an offset, or some seconds ago; if both are None, at its begin."""

    offset: Number | None = None
    age: HistoryAge | None = None
    journal: Number = 0  # that the offset belongs to; 0: that of this router


# --- between routers


class HomeDefinition(Part):
    """What a home needs to create one of its durable subscriptions again, if its journal is lost."""

    filters: Annotated[list[Number], Meta(max_length=MAX_FRAME_FILTERS)]  # indexes into those of the record
    limits: DurableLimits


class HomeRecord(RecordFrame, tag=60):
    """The durable subscriptions of a home."""

    address: AddressText  # that clients connect to
    names: SubscriptionNames  # of the subscriptions: account and name
    filters: Filters  # of all
    signature: Signature = b""
    router: OptionalName = ""  # that holds the home; empty: the one with its name
    journal: Number = 0  # the id of the home's journal; 0: unknown, or made by a router that forgot the home
    definitions: Annotated[list[HomeDefinition], Meta(max_length=MAX_FRAME_FILTERS)] = []  # noqa: RUF012  # of the names

    @property
    def holder(self) -> str:
        """The router that holds the home."""
        return self.router or self.owner


class HomeAck(UnicastFrame, tag=63):
    """Acknowledgement that a router has a version of a home record, sent to its owner."""

    router: NodeName
    incarnation: Number
    sequence: Number


class Refusals(Part):
    """Durable subscriptions of other accounts than the publisher's that did not store a message at a home."""

    count: Number
    names: Annotated[list[DurableName], Meta(max_length=MAX_REFUSING)]  # of the first ones, if they may be disclosed


class PacketRun(Frame, tag=65):
    """Messages of a durable publisher with consecutive numbers, each as in a `Packet`."""

    source: NodeName
    incarnation: Number
    number: Number  # of the first one
    hops: Hops
    tree: TreeNumber
    side: Number
    tries: Tries
    contents: Annotated[list[Content], Meta(min_length=1, max_length=MAX_UNSETTLED)]  # as in `DurableDeliver`
    durable: DurableMark  # of the first one; the homes must store each of the others after the one before it

    def packets(self) -> Iterator[Packet]:
        """Yield the packet of each message; raise a `msgspec.DecodeError` if one is invalid."""
        homes, mark = self.durable.homes, self.durable
        for number, content in enumerate(self.contents, self.number):
            attributes, tags, payload = _decode_content(content)
            previous = homes if number == self.number else dict.fromkeys(homes, number - 1)
            yield Packet(
                source=self.source,
                incarnation=self.incarnation,
                number=number,
                hops=self.hops,
                tree=self.tree,
                side=self.side,
                tries=self.tries,
                attributes=attributes,
                tags=tags,
                payload=payload,
                durable=DurableMark(mark.floor, previous, mark.is_repeated, mark.account, mark.required),
            )


_decode_content = msgspec.msgpack.Decoder(tuple[Attributes, Tags, Payload]).decode


class StoredRun(Part):
    """Messages of a `PacketRun`, with consecutive numbers, that a home has on disk."""

    incarnation: Number  # of the packets
    number: Number  # of the first one
    messages: Annotated[int, Meta(ge=1, le=MAX_UNSETTLED)]
    subscriptions: Number  # durable ones that have each of them

    def entries(self) -> Iterator[StoredEntry]:
        """Yield the entry of each message."""
        for number in range(self.number, self.number + self.messages):
            yield StoredEntry(self.incarnation, number, self.subscriptions, 0, "")


class StoredEntry(Part):
    """A message that a home has on disk, or cannot store."""

    incarnation: Number  # of the packet
    number: Number  # of the packet
    subscriptions: Number  # durable ones that have it
    dropped: Number  # messages that had to make room for it
    problem: Reason  # why it is stored for no subscription; empty if it is stored, or matches none
    refusals: Refusals | None = None


class Stored(UnicastFrame, tag=64):
    """Messages that a home has stored, sent to the router where they were published."""

    home: NodeName
    entries: Annotated[list[StoredEntry], Meta(max_length=MAX_ENTRIES)]
    journal: Number = 0  # the id of the home's journal
    runs: Annotated[list[StoredRun], Meta(max_length=MAX_ENTRIES)] = []  # noqa: RUF012  # msgspec copies it


# --- client to router


class DurableSubscribe(IdentifiedFrame, tag=70):
    """Receive the messages of a durable subscription, which is created if it does not exist."""

    name: NodeName
    predicate: PredicateText  # empty: that of the existing subscription
    wait: Seconds  # as in `Subscribe`
    window: Window
    ack_wait: Annotated[float, Meta(gt=0, le=MAX_ACK_WAIT)]  # seconds until an unacknowledged message comes again
    limits: DurableLimits | None  # None: none for a new subscription, else those that it has
    start: HistoryStart | None = None  # where a new subscription begins in the past; None: now
    is_restored: bool = False  # sent again on a new connection: the limits may have changed meanwhile


class Replay(RegistrationFrame, tag=76):
    """Subscribe to the messages of a router's history, and to those that it will get, in the order of offsets."""

    window: Window
    start: HistoryStart


class Acknowledge(IdentifiedFrame, tag=71):
    """Acknowledge messages of a durable subscription."""

    offsets: Offsets
    up_to: Number  # also all messages up to this offset that this client received; 0: none
    losses: Number = 0  # the number of the last `DurableLost`; 0: none


class DurablePublish(Frame, tag=72):
    """Publish a message, answered when all matching durable subscriptions have it on disk."""

    publisher: Number  # a random number of the client, which nobody else may learn
    sequence: Annotated[int, Meta(ge=1, lt=1 << 62)]
    floor: Number  # the lowest sequence number that the client waits for
    timeout: Seconds
    attributes: Attributes
    tags: Tags
    payload: Payload
    # Subscriptions of other accounts that must not refuse it; None: none may, as for a client of version 4.
    required: RequiredNames | None = None


# --- router to client


class DurableDeliver(IdentifiedFrame, tag=80):
    """A message of a durable subscription."""

    offset: Number
    deliveries: Number  # how often it was sent, with this one
    source: NodeName
    incarnation: Number
    number: Number
    content: Content


class DurablePublished(Frame, tag=81):
    """The result of publishing a message."""

    publisher: Number
    sequence: Number
    subscriptions: Number  # durable ones that have it on disk
    dropped: Number  # messages that had to make room for it, by the policy of these subscriptions
    silent: Annotated[list[NodeName], Meta(max_length=MAX_PROBLEMS)]  # homes that did not answer in time
    refused: Annotated[list[Reason], Meta(max_length=MAX_PROBLEMS)]  # by homes, with the reason
    # Homes with subscriptions of other accounts that refused it; their names only if the client may watch.
    others: Annotated[dict[NodeName, Refusals], Meta(max_length=MAX_PROBLEMS)] = {}  # noqa: RUF012  # msgspec copies it


class DurablePublishedRun(Frame, tag=91):
    """Messages with consecutive numbers are on disk at all homes that they match."""

    publisher: Number
    first: Number  # sequence number
    messages: Annotated[int, Meta(ge=1, le=MAX_UNSETTLED)]
    subscriptions: Number  # durable ones that have each of them

    def each(self) -> Iterator[DurablePublished]:
        """Yield the result of each message."""
        for number in range(self.first, self.first + self.messages):
            yield DurablePublished(self.publisher, number, self.subscriptions, 0, [], [])


class Replaying(IdentifiedFrame, tag=85):
    """Confirmation that a subscription begins in the past."""

    journal: Number  # a random number that identifies the journal with the history
    first: Number  # offset at which it begins
    next: Number  # offset that the next message of the history will have


class DurableLost(IdentifiedFrame, tag=84):
    """Messages that a subscription with offsets does not get: because of its limits, or for another cause."""

    messages: Number  # 0: unknown
    cause: Reason = ""  # empty: the limits of the subscription
    number: Number = 0  # to be acknowledged; 0: not
