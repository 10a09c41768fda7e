"""History of a run: what clients did and saw, and the faults, as events in JSON Lines.

    {"type":"begin","at":0.0,"routers":3,"slack":0.2,"recovery":15.0}
    {"type":"subscribe","at":5.0,"client":"c0","subscription":"even at r1","home":"r1","predicate":"k in (0, 2)",…}
    {"type":"confirm","at":5.4,"subscription":"even at r1","routers":3}
    {"type":"publish","at":9.1,"publisher":"p0","number":1,"message":{"k":2},"timeout":10.0}
    {"type":"fault","at":9.2,"of":"r1","kind":"kill"}
    {"type":"receipt","at":11.0,"publisher":"p0","number":1,"outcome":"stored","subscriptions":1}
    {"type":"receive","at":11.1,"client":"c0","subscription":"even at r1","offset":1,"deliveries":1,"publisher":"p0",…}
    {"type":"acknowledge","at":11.1,"client":"c0","subscription":"even at r1","offset":1}
    {"type":"heal","at":50.0}
    {"type":"kept","at":60.0,"router":"r1","predicate":"k >= 0","first":1,"messages":[[1,"p0",1]]}
    {"type":"end","at":60.0,"waiting":{"even at r1":0}}

Events are in the order in which they happened. A publisher gives its messages numbers in the order of publishing, and
sends the numbers with them. The *log* of a router is its own history, which subscriptions from the past read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from cbnet.errors import InputError

Outcome: TypeAlias = Literal["stored", "silent", "refused"]
FIRST: Final = 1e9  # seconds: an age before everything
SubscriptionKind: TypeAlias = Literal["durable", "replay", "plain"]  # replay: from the past, and not durable


def outcome_of(silent: Collection[str], refused: Collection[str]) -> Outcome:
    """Return what a receipt says."""
    return "silent" if silent else "refused" if refused else "stored"


def _tag(name: str) -> str:
    return name.removesuffix("Event").lower()


class _Event(msgspec.Struct, frozen=True, tag_field="type", tag=_tag):
    at: float  # seconds


class BeginEvent(_Event, frozen=True):
    """The network of the history.

    slack: seconds by which clients may see events late. recovery: seconds from the heal until all works again.
    """

    routers: int
    slack: float
    recovery: float


class SubscribeEvent(_Event, frozen=True):
    """A client subscribes; several may share a durable subscription."""

    client: str
    subscription: str
    home: str
    predicate: str
    ack_wait: float
    kind: SubscriptionKind = "durable"
    age: float | None = None  # seconds: it begins with messages stored at most so long ago


class ReplayEvent(_Event, frozen=True):
    """A subscription from the past begins, or goes on, at an offset of the log of its home."""

    client: str
    subscription: str
    offset: int


class ConfirmEvent(_Event, frozen=True):
    """A subscription is confirmed by some number of routers."""

    subscription: str
    routers: int


class PublishEvent(_Event, frozen=True):
    """A publisher publishes a message, and waits for its receipt."""

    publisher: str
    number: int
    message: dict[str, int]
    timeout: float


class ReceiptEvent(_Event, frozen=True):
    """The answer to a publisher; silent: some homes, or the router itself, did not answer."""

    publisher: str
    number: int
    outcome: Outcome
    subscriptions: int
    reason: str = ""  # of a refusal


class ReceiveEvent(_Event, frozen=True):
    """A client receives a message of a subscription."""

    client: str
    subscription: str
    offset: int  # of a replay: in the log; of a plain subscription: 0
    deliveries: int
    publisher: str
    number: int


class AcknowledgeEvent(_Event, frozen=True):
    """A client acknowledges a message."""

    client: str
    subscription: str
    offset: int


class LostEvent(_Event, frozen=True):
    """A client learns that messages may be missing here; messages: how many at most, 0 if that is not known."""

    client: str
    subscription: str
    messages: int
    cause: str


class FaultEvent(_Event, frozen=True):
    """Something is broken, or mended, at a router, a client, or a link such as r1-r2.

    A home may refuse messages from a "full disk" to a "free disk".
    """

    of: str
    kind: str


class HealEvent(_Event, frozen=True):
    """All is mended, and nothing breaks any more."""


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
    BeginEvent
    | SubscribeEvent
    | ReplayEvent
    | ConfirmEvent
    | PublishEvent
    | ReceiptEvent
    | ReceiveEvent
    | AcknowledgeEvent
    | LostEvent
    | FaultEvent
    | HealEvent
    | KeptEvent
    | EndEvent
)

_decode = msgspec.json.Decoder(Event).decode
_encode = msgspec.json.Encoder().encode


def write_history(path: Path, events: Iterable[Event]) -> None:
    """Write a history to a file."""
    path.write_bytes(b"".join(_encode(event) + b"\n" for event in events))


def read_history(path: Path) -> list[Event]:
    """Read a history; raise an `InputError` with the line if it is none."""
    events: list[Event] = []
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"cannot read the history: {error.strerror}", file=str(path)) from None
    for number, line in enumerate(lines, 1):
        try:
            events.append(_decode(line))
        except msgspec.DecodeError as error:
            raise InputError(f"line {number} is no event of a history: {error}", file=str(path)) from None
    return events
