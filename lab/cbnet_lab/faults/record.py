"""The record of a run: what clients did and saw, and the faults, as events in JSON Lines.

    {"type":"begin","at":0.0,"routers":3,"slack":0.2,"recovery":15.0}
    {"type":"subscribe","at":5.0,"client":"c0","subscription":"even at r1","home":"r1","predicate":"k in (0, 2)",…}
    {"type":"confirm","at":5.4,"subscription":"even at r1","routers":3}
    {"type":"publish","at":9.1,"publisher":"p0","number":1,"message":{"k":2},"timeout":10.0}
    {"type":"fault","at":9.2,"of":"r1","kind":"kill"}
    {"type":"receipt","at":11.0,"publisher":"p0","number":1,"outcome":"stored","subscriptions":1}
    {"type":"receive","at":11.1,"client":"c0","subscription":"even at r1","offset":1,"deliveries":1,"publisher":"p0",…}
    {"type":"acknowledge","at":11.1,"client":"c0","subscription":"even at r1","offset":1}
    {"type":"fault","at":14.0,"of":"r1","kind":"kill","is_end":true}
    {"type":"heal","at":50.0}
    {"type":"kept","at":60.0,"router":"r1","predicate":"k >= 0","first":1,"messages":[[1,"p0",1]]}
    {"type":"end","at":60.0,"waiting":{"even at r1":0}}

Events are in the order in which they happened. A publisher numbers its messages in the order of publishing, and sends
the numbers with them. The *log* of a router is its own history, which subscriptions from the past read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from math import inf
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from cbnet.errors import InputError

Outcome: TypeAlias = Literal["stored", "silent", "refused"]
FIRST: Final = 1e9  # seconds: an age before everything
SubscriptionKind: TypeAlias = Literal["durable", "replay", "plain", "offer"]  # replay: from the past, and not durable


def outcome_of(silent: Collection[str], refused: Collection[str]) -> Outcome:
    """Return the outcome of a receipt."""
    return "silent" if silent else "refused" if refused else "stored"


def _tag(name: str) -> str:
    return name.removesuffix("Event").lower()


class _Event(msgspec.Struct, frozen=True, tag_field="type", tag=_tag, omit_defaults=True):
    at: float  # seconds


class BeginEvent(_Event, frozen=True):
    """The network of the run.

    slack: seconds by which clients may see events late. recovery: seconds from the heal, or from the last change, until
    all works again. delay: seconds until a message has passed the network. harmless: faults after which nothing may be
    missed.
    """

    routers: int
    slack: float
    recovery: float
    delay: float = 2.0
    harmless: list[str] = []


class SubscribeEvent(_Event, frozen=True):
    """A client subscribes, or offers to answer requests; several may share a durable subscription."""

    client: str
    subscription: str
    home: str
    predicate: str
    ack_wait: float = 0.0
    kind: SubscriptionKind = "durable"
    age: float | None = None  # seconds: it begins with messages stored at most so long ago


class UnsubscribeEvent(_Event, frozen=True):
    """A client ends a plain subscription."""

    subscription: str


class ReplayEvent(_Event, frozen=True):
    """A subscription from the past begins, or goes on, at an offset of the log of its home."""

    client: str
    subscription: str
    offset: int


class ConfirmEvent(_Event, frozen=True):
    """A subscription is confirmed by some number of routers.

    reached: the number of routers that its home reaches; by default those of the network, as long as nothing fails.
    """

    subscription: str
    routers: int
    reached: int | None = None


class PublishEvent(_Event, frozen=True):
    """A publisher publishes a message, and waits for its receipt, unless the timeout is None.

    reach: the routers that it can reach; by default all.
    """

    publisher: str
    number: int
    message: dict[str, Any]
    timeout: float | None = None
    payload: str = ""
    reach: Collection[str] | None = None


class ReceiptEvent(_Event, frozen=True):
    """The answer to a publisher; silent: some homes, or the router itself, did not answer."""

    publisher: str
    number: int
    outcome: Outcome
    subscriptions: int
    reason: str = ""  # of a refusal


class ReceiveEvent(_Event, frozen=True):
    """A client receives a message of a subscription; message and payload, if they were compared."""

    client: str
    subscription: str
    offset: int  # of a replay: in the log; of a plain subscription: 0
    deliveries: int
    publisher: str
    number: int
    message: dict[str, Any] | None = None
    payload: str = ""


class AcknowledgeEvent(_Event, frozen=True):
    """A client acknowledges a message."""

    client: str
    subscription: str
    offset: int


class LostEvent(_Event, frozen=True):
    """A client learns that messages may be missing here; messages: how many at most, 0 if unknown."""

    client: str
    subscription: str
    messages: int
    cause: str


class RequestEvent(_Event, frozen=True):
    """A client requests an item; reach: the routers that it can reach."""

    client: str
    number: int
    request: dict[str, Any]
    timeout: float
    reach: Collection[str]


class AnswerEvent(_Event, frozen=True):
    """The end of a request; gone: the requester has lost its connection."""

    number: int
    outcome: Literal["reply", "cached reply", "no holder", "timeout", "gone"]
    message: dict[str, Any] = {}


class FaultEvent(_Event, frozen=True):
    """Something is broken, or mended (is_end), at a router, a client, or a link such as r1-r2.

    in_flight: seconds before it since when messages may be affected; by default the delay of the network.
    """

    of: str
    kind: str
    is_end: bool = False
    in_flight: float | None = None


class SettleEvent(_Event, frozen=True):
    """The network has settled: all routers know the actual state; or it has not (is_settled), and should have.

    since: the time of the last change, or when it was left alone.
    """

    since: float
    is_settled: bool = True


class CompareEvent(_Event, frozen=True):
    """A part of the state of the network, and its expected value."""

    kind: str  # such as tables, or packets
    of: str
    found: Any
    expected: Any


class HealEvent(_Event, frozen=True):
    """All faults have ended, and no more follow."""


class KeptEvent(_Event, frozen=True):
    """The log of a router at the end: offset, publisher and number of each message; first: the first offset kept."""

    router: str
    predicate: str
    first: int
    messages: list[tuple[int, str, int]]


class EndEvent(_Event, frozen=True):
    """The end, after a time without faults; waiting: messages of each subscription that are not acknowledged."""

    waiting: dict[str, int]


Event: TypeAlias = (
    BeginEvent | SubscribeEvent | UnsubscribeEvent | ReplayEvent | ConfirmEvent | PublishEvent | ReceiptEvent
    | ReceiveEvent | AcknowledgeEvent | LostEvent | RequestEvent | AnswerEvent | FaultEvent | SettleEvent | CompareEvent
    | HealEvent | KeptEvent | EndEvent
)  # fmt: skip
Record: TypeAlias = Callable[[Event], None]  # adds an event


def settled_beginning(predicates: Mapping[str, str], recovery: float = 0.0) -> list[Event]:
    """Return the first events of a run in a settled network; predicates: of plain subscriptions, by client.

    Messages may take any time to arrive.
    """
    plain = [SubscribeEvent(0.0, name, name, "", text, kind="plain") for name, text in predicates.items()]
    return [BeginEvent(0.0, 0, 0.0, recovery, delay=inf), *plain, SettleEvent(0.0, 0.0)]


_decode = msgspec.json.Decoder(Event).decode
_encode = msgspec.json.Encoder().encode


def write_record(path: Path, events: Iterable[Event]) -> None:
    """Write a record to a file."""
    path.write_bytes(b"".join(_encode(event) + b"\n" for event in events))


def read_record(path: Path) -> list[Event]:
    """Read a record; raise an `InputError` that names the line if it is none."""
    events: list[Event] = []
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"cannot read the record: {error.strerror}", file=str(path)) from None
    for number, line in enumerate(lines, 1):
        try:
            events.append(_decode(line))
        except msgspec.DecodeError as error:
            raise InputError(f"line {number} is no event of a record: {error}", file=str(path)) from None
    return events
