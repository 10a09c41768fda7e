"""Journal of a router: operations on disk, and the state recovered when the router starts.

    state machine ── operations ──► journal: one transaction for many of them, in order
                  ◄── Committed ──           they are on disk, whatever happens next
                  ◄── ReadResult ─           messages that were requested, after the transaction
                  ◄── Stalled ────           they cannot be written now, as no disk answers; the journal retries
                  ◄── Shortage ───           only messages cannot be written now, as the disk is full
                  ◄── BackedUp ───           a backup is on disk
                  ◄── OpenJournal ─          the router holds the home from now on, with this state
                  ◄── Standby ────           it does not: another router does, or nobody knows

A journal in a folder is always held. One that several routers share is held by a *lease*: the router must stop acting
for the home once `is_held` is False, whether or not the event has arrived. Nothing that it submits afterwards takes
effect.

The state machine sees nothing else, so a simulated disk replaces SQLite in tests. The operations of one `submit` are
atomic, and do not take effect before those submitted earlier. Messages are read once the operations submitted earlier
are on disk, and perhaps later ones.

A journal has one log: a message is there once, at a *position*, with the *set* of subscriptions that it matches. What a
subscription still needs of it is its *cursor*:

    position           7    8    9   10   11   12   13        Stretch(8, offset=3, messages=2)   the floor: offset 3
    in its set              x         x         x    x        Stretch(13, offset=6, messages=0)  and all that follow
    offset                  3         4         5    6        between them offset 5 is acknowledged
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Final, NamedTuple, Protocol, TypeAlias

from cbnet.network.protocol.durable_frames import DurableLimits
from cbnet.network.protocol.fields import Part

COMMIT_BOUNDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # seconds


class JournalSize(NamedTuple):
    """The space of a journal in a folder, in bytes."""

    used: int  # by its files
    free: int  # of these: that further messages take first
    disk: int  # free on its disk


class JournalStatistics:
    """The figures of one journal since the router has started."""

    def __init__(self) -> None:
        self.within = [0] * (len(COMMIT_BOUNDS) + 1)  # transactions, by the first bound that they did not exceed
        self.seconds = 0.0  # of all transactions
        self.size: JournalSize | None = None  # None: unknown

    def committed(self, seconds: float) -> None:
        """Count a transaction that is on disk."""
        self.within[bisect_left(COMMIT_BOUNDS, seconds)] += 1
        self.seconds += seconds

    def quantile(self, fraction: float) -> float:
        """Return a time within which this fraction of the transactions was on disk: one of the bounds; 0: none was."""
        counts = [*self.within]
        due = fraction * sum(counts)
        if not due:
            return 0.0
        for bound, count in zip(COMMIT_BOUNDS, counts, strict=False):
            due -= count
            if due <= 0:
                return bound
        return COMMIT_BOUNDS[-1] * 2


HISTORY_ID: Final = 0  # the history of a router reads the log like a durable subscription with this id


class SavedSubscription(Part):
    """A durable subscription, or the history, as stored on disk."""

    id: int
    account: str  # of the client that created it; empty for clients without accounts
    name: str
    predicate: str
    limits: DurableLimits
    start: int = 0  # offset in the history from which messages are still to be searched for it; 0: none
    since: float = 0.0  # of the history: time since which all messages are kept
    former_seconds: float = 0.0  # for which its account has not existed
    ended: float = 0.0  # time when it ended, as its account did not exist; 0: it has not


class Loss(Part):
    """Messages lost to a durable subscription, whose loss no client has acknowledged yet."""

    number: int  # increases from loss to loss
    messages: int  # 0: unknown
    cause: str  # empty: the limits of the subscription


class Entry(NamedTuple):
    """A message in the log, or a note of the history."""

    position: int
    set_id: int  # the subscriptions that it matches
    time: float  # by the wall clock; never less than that of an earlier message
    source: str
    incarnation: int
    number: int
    content: bytes  # attributes, tags and payload, as an array in MessagePack


class Stretch(NamedTuple):
    """Messages of a subscription one after another that are not acknowledged."""

    position: int  # the first one is the first message of the subscription at this position or above
    offset: int  # of the first one
    messages: int  # 0, in the last stretch: all that follow


# --- operations


class SaveSubscription(NamedTuple):
    """Add a durable subscription, or replace its limits."""

    saved: SavedSubscription


class DropSubscription(NamedTuple):
    """Remove a durable subscription, with its cursor and its losses."""

    id: int


class SaveCursor(NamedTuple):
    """Save which messages of a subscription are not acknowledged."""

    subscription: int
    stretches: tuple[Stretch, ...]  # at least one


class SaveSet(NamedTuple):
    """Add a set of subscriptions, which messages of the log refer to."""

    id: int
    members: tuple[int, ...]  # sorted


class DropSet(NamedTuple):
    """Remove a set that no message refers to."""

    id: int


class Append(NamedTuple):
    """Add messages to the log."""

    entries: Sequence[Entry]


class Assign(NamedTuple):
    """Change the set of subscriptions of a message."""

    position: int
    set_id: int


class Discard(NamedTuple):
    """Remove the messages at positions `first` to `end` - 1."""

    first: int
    end: int


class SaveLosses(NamedTuple):
    """Save the losses of a subscription."""

    subscription: int
    lost: int = 0  # messages, in total
    pending: tuple[Loss, ...] = ()  # not acknowledged by a client, in the order of numbers


class SaveWindow(NamedTuple):
    """Save which messages of a publisher were settled: all below `floor`, and above it those with a bit in `seen`."""

    publisher: int
    floor: int
    seen: bytes  # little-endian
    refusals: bytes = b""  # number of subscriptions that refused, by message, in MessagePack; empty: none


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
    """Read messages of the log."""

    id: int  # of this read
    positions: Sequence[int]
    payer: str = ""  # the account for which they are read: accounts take turns


Write: TypeAlias = (
    SaveSubscription
    | DropSubscription
    | SaveCursor
    | SaveSet
    | DropSet
    | Append
    | Assign
    | Discard
    | SaveLosses
    | SaveWindow
    | DropWindow
    | SaveHome
    | DropHome
)
Operation: TypeAlias = Write | Read


# --- events


class ReadResult(NamedTuple):
    """The requested messages that are on disk, without damaged ones."""

    id: int  # of the read
    entries: Sequence[Entry]


class Committed(NamedTuple):
    """The operations of the oldest unanswered calls of `submit` are on disk; submits: number of calls."""

    submits: int


class Stalled(NamedTuple):
    """The journal cannot be written."""

    reason: str


class Shortage(NamedTuple):
    """The journal has space for acknowledgements and removals, but not for further messages."""

    reason: str  # empty: it has space for messages again


class BackedUp(NamedTuple):
    """A backup is on disk, or cannot be made."""

    id: int  # of the order
    file: str
    bytes: int
    problem: str = ""


@dataclass
class RecoveredRows:
    """The log without contents: the columns of its messages, in the order of positions."""

    positions: array[int] = field(default_factory=lambda: array("q"))
    sets: array[int] = field(default_factory=lambda: array("I"))
    sizes: array[int] = field(default_factory=lambda: array("I"))
    times: array[float] = field(default_factory=lambda: array("d"))

    def add(self, position: int, set_id: int, size: int, time: float) -> None:
        """Add a message."""
        self.positions.append(position)
        self.sets.append(set_id)
        self.sizes.append(size)
        self.times.append(time)


@dataclass
class RecoveredState:
    """The content of a journal when a router starts."""

    id: int  # a random number, drawn when the journal was created
    subscriptions: list[SavedSubscription] = field(default_factory=list)
    cursors: dict[int, SaveCursor] = field(default_factory=dict)  # by subscription
    sets: dict[int, tuple[int, ...]] = field(default_factory=dict)  # by id
    rows: RecoveredRows = field(default_factory=RecoveredRows)
    losses: dict[int, SaveLosses] = field(default_factory=dict)  # by subscription
    windows: dict[int, SaveWindow] = field(default_factory=dict)  # by publisher
    homes: dict[str, bytes] = field(default_factory=dict)

    def positions(self, subscription: int) -> array[int]:
        """Return the positions of the messages of a subscription, also of those that it has acknowledged."""
        arrays = self._positions_by_subscription.get(subscription, [])
        return arrays[0][:] if len(arrays) == 1 else array("q", sorted(chain.from_iterable(arrays)))

    @cached_property
    def _positions_by_subscription(self) -> dict[int, list[array[int]]]:
        """The positions of each set of which a subscription is a member, shared by all its members."""
        by_set: dict[int, array[int]] = {id: array("q") for id in self.sets}
        for position, set_id in zip(self.rows.positions, self.rows.sets, strict=True):
            by_set[set_id].append(position)
        found: dict[int, list[array[int]]] = {}
        for set_id, members in self.sets.items():
            for id in members:
                found.setdefault(id, []).append(by_set[set_id])
        return found


class Journal(Protocol):
    """A journal; its events go to `Router.journalled`."""

    def submit(self, operations: Sequence[Operation]) -> None:
        """Start performing operations."""

    def time(self) -> float:
        """Return the time of the wall clock, in seconds."""

    def back_up(self, id: int, name: str) -> None:
        """Start a backup of what was submitted so far; answered by `BackedUp` with this id."""

    @property
    def statistics(self) -> JournalStatistics:
        """Its figures."""

    @property
    def is_held(self) -> bool:
        """Whether this router may act for the home."""

    def release(self) -> None:
        """Let another router hold the home."""


class OpenJournal(NamedTuple):
    """A journal that this router holds, and the state recovered from it."""

    journal: Journal
    state: RecoveredState


class Standby(NamedTuple):
    """The router does not hold the home; its journal tries to take it."""

    holder: str  # the router that holds it; empty: nobody, as far as known
    problem: str = ""  # why that is not known


JournalEvent: TypeAlias = Committed | ReadResult | Stalled | Shortage | BackedUp | OpenJournal | Standby
