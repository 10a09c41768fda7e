"""Journal of a router: operations on disk, and the state recovered when the router starts.

    state machine ── operations ──► journal: one transaction for many of them, in order
                  ◄── Committed ──           they are on disk, whatever happens next
                  ◄── ReadResult ─           messages that were requested, after the transaction
                  ◄── Stalled ────           they cannot be written now, as the disk is full; the journal retries

The state machine sees nothing else, so a simulated disk replaces SQLite in tests. The operations of one `submit` are
atomic, and do not take effect before those submitted earlier. Messages are read once the operations submitted earlier
are on disk, and perhaps later ones; in order, for each subscription.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, TypeAlias

from cbnet.network.protocol.durable_frames import DurableLimits
from cbnet.network.protocol.fields import Part

HISTORY_ID: Final = 0  # the history of a router is stored like a durable subscription with this id


class SavedSubscription(Part):
    """A durable subscription, or the history, as stored on disk."""

    id: int
    account: str  # of the client that created it; empty for clients without accounts
    name: str
    predicate: str
    limits: DurableLimits
    start: int = 0  # offset in the history from which messages are still to be copied; 0: none
    since: float = 0.0  # of the history: time since which all messages are kept


class Loss(Part):
    """Messages lost to a durable subscription, whose loss no client has acknowledged yet."""

    number: int  # increases from loss to loss
    messages: int  # 0: unknown
    cause: str  # empty: the limits of the subscription


class Entry(NamedTuple):
    """A message of a durable subscription."""

    subscription: int
    offset: int
    time: float  # by the wall clock
    source: str
    incarnation: int
    number: int
    content: bytes  # attributes, tags and payload, as an array in MessagePack


class StockItem(NamedTuple):
    """Offset, size and time of a message on disk."""

    offset: int
    size: int
    time: float


# --- operations


class SaveSubscription(NamedTuple):
    """Add a durable subscription, or replace its limits."""

    saved: SavedSubscription


class DropSubscription(NamedTuple):
    """Remove a durable subscription and its messages."""

    id: int


class Append(NamedTuple):
    """Store a message."""

    entry: Entry


class Discard(NamedTuple):
    """Remove the messages of a subscription at offsets `first` to `end` - 1."""

    subscription: int
    first: int
    end: int


class SaveLosses(NamedTuple):
    """Save the losses of a subscription."""

    subscription: int
    lost: int = 0  # messages, in total
    pending: tuple[Loss, ...] = ()  # not acknowledged by a client, in the order of numbers


class SaveWindow(NamedTuple):
    """Save which messages of a publisher were stored: all below `floor`, and above it those with a bit in `seen`."""

    publisher: int
    floor: int
    seen: bytes  # little-endian


class DropWindow(NamedTuple):
    """Remove the window of a publisher."""

    publisher: int


class SaveHome(NamedTuple):
    """Save the record of a home."""

    owner: str
    record: bytes


class DropHome(NamedTuple):
    """Remove the record of a home."""

    owner: str


class Read(NamedTuple):
    """Read messages of a subscription, starting at an offset."""

    subscription: int
    first: int
    max_messages: int
    max_bytes: int


Write: TypeAlias = (
    SaveSubscription | DropSubscription | Append | Discard | SaveLosses | SaveWindow | DropWindow | SaveHome | DropHome
)
Operation: TypeAlias = Write | Read


# --- events


class ReadResult(NamedTuple):
    """The messages of a subscription on disk at offsets `first` to `end` - 1, without damaged ones."""

    subscription: int
    first: int
    end: int
    entries: Sequence[Entry]


class Committed(NamedTuple):
    """The operations of the oldest unanswered calls of `submit` are on disk; submits: number of calls."""

    submits: int


class Stalled(NamedTuple):
    """The journal cannot be written."""

    reason: str


JournalEvent: TypeAlias = Committed | ReadResult | Stalled


@dataclass
class RecoveredState:
    """The content of a journal when a router starts."""

    id: int  # a random number, drawn when the journal was created
    subscriptions: list[SavedSubscription] = field(default_factory=list)
    next_offsets: dict[int, int] = field(default_factory=dict)  # by subscription
    stock: dict[int, list[StockItem]] = field(default_factory=dict)  # by subscription, in the order of offsets
    losses: dict[int, SaveLosses] = field(default_factory=dict)  # by subscription
    windows: dict[int, SaveWindow] = field(default_factory=dict)  # by publisher
    homes: dict[str, bytes] = field(default_factory=dict)


class Journal(Protocol):
    """A journal; its events go to `Router.journalled`."""

    def start(self, on_event: Callable[[JournalEvent], None]) -> RecoveredState:
        """Return the content, and from then on call a function with every event, never within `submit`."""

    def submit(self, operations: Sequence[Operation]) -> None:
        """Start performing operations."""

    def time(self) -> float:
        """Return the time of the wall clock, in seconds."""


class OpenJournal(NamedTuple):
    """A started journal, and the state recovered from it."""

    journal: Journal
    state: RecoveredState
