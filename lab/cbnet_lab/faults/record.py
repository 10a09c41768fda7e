"""The record of a run: the actions and observations of clients, and the faults, as events.

Events are in chronological order. A publisher numbers its messages in the order of publishing, and sends the numbers
with them. The *log* of a router is its own history, which subscriptions from the past read.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Literal, TypeAlias

import msgspec

from cbnet.network.client.durable.durable_publishing import Receipt
from cbnet.network.protocol.frames import DurablePublished

Outcome: TypeAlias = Literal["stored", "silent", "refused"]
FIRST: Final = 1e9  # an age, in seconds, that includes every message
SubscriptionKind: TypeAlias = Literal["durable", "replay", "plain", "offer"]  # replay: from the past, not durable


class RunEvent(msgspec.Struct, frozen=True):
    """An event of a run."""

    at: float  # seconds


class BeginEvent(RunEvent, frozen=True):
    """The network of the run.

    slack: maximum delay with which clients observe events. recovery: maximum time from the heal, or from the last
    change, until everything works again. delay: maximum time of a message in the network. harmless: faults after which
    no message may be missed. groups: the routers that may hold a home, where it is not that of one router. All times
    are in seconds.
    """

    routers: int
    slack: float
    recovery: float
    delay: float = 2.0
    harmless: list[str] = []
    groups: dict[str, list[str]] = {}


class SubscribeEvent(RunEvent, frozen=True):
    """A client subscribes, or offers to answer requests; several may share a durable subscription."""

    client: str
    subscription: str
    home: str
    predicate: str
    ack_wait: float = 0.0
    kind: SubscriptionKind = "durable"
    age: float | None = None  # if it starts in the past: maximum age of the first message, in seconds
    limit: int = 0  # messages that it keeps; it then refuses others, and its account is not that of the publishers


class UnsubscribeEvent(RunEvent, frozen=True):
    """A client ends a plain subscription."""

    subscription: str


class ReplayEvent(RunEvent, frozen=True):
    """A subscription from the past starts or resumes at an offset in the log of its home."""

    client: str
    subscription: str
    offset: int


class ConfirmEvent(RunEvent, frozen=True):
    """A subscription is confirmed by a number of routers.

    reached: the number of routers that its home reaches; by default all of the network, as long as nothing fails.
    """

    subscription: str
    routers: int
    reached: int | None = None


class PublishEvent(RunEvent, frozen=True):
    """A publisher publishes a message, and waits for its receipt, unless the timeout is None.

    reach: the routers that it can reach; by default all.
    """

    publisher: str
    number: int
    message: dict[str, Any]
    timeout: float | None = None
    payload: str = ""
    reach: Collection[str] | None = None


class ReceiptEvent(RunEvent, frozen=True):
    """The answer to a publisher; silent: some homes, or the router itself, did not answer."""

    publisher: str
    number: int
    outcome: Outcome
    subscriptions: int
    reason: str = ""  # of a refusal
    others: dict[str, int] = {}  # subscriptions of other accounts that refused it, by home


class ReceiveEvent(RunEvent, frozen=True):
    """A client receives a message of a subscription; message and payload are set only if they are to be compared."""

    client: str
    subscription: str
    offset: int  # for a replay, in the log; for a plain subscription, 0
    deliveries: int
    publisher: str
    number: int
    message: dict[str, Any] | None = None
    payload: str = ""
    router: str = ""  # that has sent it, if that is to be checked


class HoldEvent(RunEvent, frozen=True):
    """A router takes a home."""

    home: str
    router: str


class AcknowledgeEvent(RunEvent, frozen=True):
    """A client acknowledges a message."""

    client: str
    subscription: str
    offset: int


class LostEvent(RunEvent, frozen=True):
    """A loss is reported to a client at this point; messages: the maximum number of lost messages, 0 if unknown."""

    client: str
    subscription: str
    messages: int
    cause: str


class RequestEvent(RunEvent, frozen=True):
    """A client requests an item; reach: the routers that it can reach."""

    client: str
    number: int
    request: dict[str, Any]
    timeout: float
    reach: Collection[str]


class AnswerEvent(RunEvent, frozen=True):
    """The end of a request; gone: the requester has lost its connection."""

    number: int
    outcome: Literal["reply", "cached reply", "no holder", "timeout", "gone"]
    message: dict[str, Any] = {}


class FaultEvent(RunEvent, frozen=True):
    """A fault begins, or ends (is_end), at a router, a client, or a link such as r1-r2.

    in_flight: maximum age, in seconds, of the messages that it may affect; by default the delay of the network.
    """

    of: str
    kind: str
    is_end: bool = False
    in_flight: float | None = None


class SettleEvent(RunEvent, frozen=True):
    """The network has settled: all routers know the actual state; or it failed to settle in time (not is_settled).

    since: the time of the last change, or the time from which the network was left alone.
    """

    since: float
    is_settled: bool = True


class CompareEvent(RunEvent, frozen=True):
    """A part of the state of the network, and its expected value."""

    kind: str  # such as tables, or packets
    of: str
    found: Any
    expected: Any


class HealEvent(RunEvent, frozen=True):
    """All faults have ended, and no further ones follow."""


class KeptEvent(RunEvent, frozen=True):
    """The log of a router at the end: offset, publisher and number of each message; first: the first stored offset."""

    router: str
    predicate: str
    first: int
    messages: list[tuple[int, str, int]]


class EndEvent(RunEvent, frozen=True):
    """The end, after a time without faults; waiting: unacknowledged messages of each subscription."""

    waiting: dict[str, int]


def sender(payload: bytes) -> tuple[str, int]:
    """Return the publisher and the number in a payload such as `p0 17`."""
    publisher, number = payload.decode().split()
    return publisher, int(number)


def receipt_event(at: float, publisher: str, number: int, receipt: Receipt | DurablePublished) -> ReceiptEvent:
    """Return the event of a receipt."""
    outcome: Outcome = "silent" if receipt.silent else "refused" if receipt.refused else "stored"
    others = {home: each.count for home, each in receipt.others.items()}
    return ReceiptEvent(at, publisher, number, outcome, receipt.subscriptions, "; ".join(receipt.refused), others)
