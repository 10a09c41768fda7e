"""Frames of the operation of durable subscriptions: lists, limits, stored messages and backups, with their answers."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta
from msgspec.structs import replace

from cbnet.network.protocol.durable_frames import Age, Content, DurableLimits, Offsets, Policy
from cbnet.network.protocol.fields import (
    MAX_ENTRIES,
    MAX_FRAME_FILTERS,
    MAX_HOMES,
    NodeName,
    Number,
    NumberedFrame,
    OptionalName,
    Part,
    PredicateText,
    Reason,
)

FilePath: TypeAlias = Annotated[str, Meta(max_length=10_000)]
FormerAccounts: TypeAlias = Annotated[list[OptionalName], Meta(max_length=MAX_FRAME_FILTERS)]


class DurableQuery(NumberedFrame, tag=73):
    """Request for the durable subscriptions of this router, in the order of accounts and names."""

    # Only those after this account and name; None: all, in one answer, as for a client of version 4.
    after: tuple[OptionalName, OptionalName] | None = None


class DurableRemove(NumberedFrame, tag=74):
    """Remove a durable subscription and its messages."""

    name: NodeName
    account: OptionalName | None = None  # None: that of the client


class DurableLimit(NumberedFrame, tag=77):
    """Change limits of a durable subscription; None: no change."""

    name: NodeName
    messages: Number | None
    bytes: Number | None
    age: Age | None
    policy: Policy | None
    account: OptionalName | None = None  # None: that of the client
    max_deliveries: Number | None = None
    dead_letter: OptionalName | None = None

    def applied_to(self, limits: DurableLimits) -> DurableLimits:
        """Return limits with the changes."""
        members = ((name, getattr(self, name)) for name in DurableLimits.__struct_fields__)
        return replace(limits, **{name: value for name, value in members if value is not None})


class DurablePeek(NumberedFrame, tag=78):
    """Request for messages of a durable subscription, which stay as they are."""

    name: NodeName
    first: Number  # offset from which on
    end: Number  # offset up to which, exclusive; 0: that of the next message
    count: Annotated[int, Meta(ge=1)]  # maximum number of messages
    account: OptionalName | None = None  # None: that of the client


class DurableMove(NumberedFrame, tag=79):
    """Move messages of a durable subscription to another one of the same router and account."""

    name: NodeName
    to: NodeName
    offsets: Offsets  # of the messages; empty: those from `first` to `end`
    first: Number
    end: Number  # as in `DurablePeek`
    count: Number  # maximum number of messages; 0: no maximum
    account: OptionalName | None = None  # None: that of the client


class DurablePurge(NumberedFrame, tag=69):
    """Remove messages of a durable subscription."""

    name: NodeName
    offsets: Offsets  # this and the following as in `DurableMove`
    first: Number
    end: Number
    count: Number
    account: OptionalName | None = None


class ForgetHome(NumberedFrame, tag=75):
    """Remove the record of a home that will not return, so that publishers no longer wait for it."""

    home: NodeName


class JournalBackup(NumberedFrame, tag=89):
    """Make a backup of the router's journal, on its disk."""

    name: NodeName


# --- answers


class HistoryField(Part):
    """The state of a history."""

    predicate: PredicateText
    messages: Number
    bytes: Number
    first: Number  # offset of the oldest message
    next: Number  # offset of the next one
    oldest: float  # time of the oldest message, in seconds since 1970 by the clock of the router; 0: no message
    complete: float  # time since which all messages are kept
    replays: Number  # subscriptions that read it


class DurableField(Part):
    """The state of a durable subscription."""

    name: NodeName
    account: OptionalName
    predicate: PredicateText
    limits: DurableLimits
    messages: Number  # stored and not acknowledged
    bytes: Number
    next: Number  # offset of the next message
    unacknowledged: Number  # of these messages: sent to clients
    clients: Number
    lost: Number  # messages that it did not get, in all
    oldest: float = 0.0  # time of the oldest message, in seconds since 1970 by the clock of the router; 0: no message
    redelivered: Number = 0  # messages that were sent again, since the router has started


class JournalField(Part):
    """The state of a journal; a time within which half, or 99 %, of its transactions were on disk, in seconds."""

    state: str  # "writable", "short" of space, "stalled" or "standby"
    bytes: Number  # of its files; 0: unknown, as in a database
    free: Number  # of these bytes
    disk: Number  # free on its disk
    commits: Number
    median: float
    p99: float


class AccountField(Part):
    """What the durable subscriptions of an account keep at a router, and its quotas; None: unlimited."""

    account: OptionalName
    subscriptions: Number
    messages: Number
    bytes: Number
    max_subscriptions: Number | None
    max_messages: Number | None
    max_bytes: Number | None
    max_age: Number | None
    ends_in: Age | None = None  # seconds until they end, as the account does not exist; None: they do not


class DurableReport(NumberedFrame, tag=82):
    """The durable subscriptions of a router, or the first of those requested, and the other homes that it knows."""

    subscriptions: Annotated[list[DurableField], Meta(max_length=MAX_FRAME_FILTERS)]
    homes: Annotated[dict[NodeName, Number], Meta(max_length=MAX_HOMES)]  # with their subscriptions
    problem: Reason  # why the journal cannot be written, and what was lost with another one; empty: nothing
    history: HistoryField | None = None
    account: OptionalName = ""  # of the client
    former_accounts: FormerAccounts = []  # noqa: RUF012  # msgspec copies it; those of `subscriptions` that exist no more
    rest: Number = 0  # further subscriptions that were requested
    # Of the client and the owners of `subscriptions`.
    accounts: Annotated[list[AccountField], Meta(max_length=MAX_FRAME_FILTERS + 1)] = []  # noqa: RUF012
    journal: JournalField | None = None


class JournalBackedUp(NumberedFrame, tag=90):
    """A backup that is on disk."""

    file: FilePath
    bytes: Number


class DurableRemoved(NumberedFrame, tag=83):
    """Confirmation that a durable subscription, or the record of a home, was removed."""

    messages: Number = 0  # not acknowledged, removed with the subscription


class DurableLimited(NumberedFrame, tag=86):
    """The limits of a durable subscription after a change."""

    limits: DurableLimits


class StoredField(Part):
    """A message of a durable subscription."""

    offset: Number
    deliveries: Number  # how often it was sent
    time: float  # when it was stored, in seconds since 1970 by the clock of the router
    source: NodeName
    incarnation: Number
    number: Number
    content: Content


class DurablePeeked(NumberedFrame, tag=87):
    """Some of the requested messages of a durable subscription."""

    messages: Annotated[list[StoredField], Meta(max_length=MAX_ENTRIES)]
    next: Number  # offset from which on to request further ones; 0: there are none
    end: Number  # offset up to which, exclusive


class DurableTaken(NumberedFrame, tag=88):
    """Confirmation that messages of a durable subscription were moved or removed, perhaps only some of them."""

    messages: Number
    next: Number  # as in `DurablePeeked`
    end: Number
    problem: Reason  # why no further ones can be moved; empty if they can
