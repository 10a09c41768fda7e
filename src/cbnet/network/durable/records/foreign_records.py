"""Records of a home that its journal does not know: the journal is new, or older than the network knows.

    entry of a neighbour ──► record requested ──► subscriptions created again ──► on disk ──► superseded, on disk
                             └────────── the home answers no durable publisher ────────────┘
                             └──────────────── its router publishes no durable message ────────────────────┘

A journal that is lost, or replaced by an old one, leaves the network with a record that names subscriptions which the
home does not have. An empty record in its place would make receipts that count nothing; so the home first takes the
missing subscriptions from it.

A journal has saved each version that it made before other routers receive it. So a version that another run of the
router made is unknown if it has the id of another journal, or is newer than the version with which this journal was
recovered. A version without a journal is one of 0.2, or of a router that has forgotten the home.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from cbnet.network.linkstate.records import RecordVersion, version_of
from cbnet.network.protocol.frames import HomeRecord, RecordEntry

MAX_REVIEWS: Final = 16  # in one run; beyond that versions are superseded unread, as a linked router forges them


class ForeignRecord(NamedTuple):
    """A record to be reviewed."""

    neighbour: str  # that has sent it
    record: HomeRecord


class ForeignRecords:
    """The unknown versions of the record of one home."""

    def __init__(self, journal: int, incarnation: int, saved: HomeRecord | None) -> None:
        """Initialise; saved: the record on disk when the router has started."""
        self.journal = journal  # the id of this router's; 0: it has none
        self._incarnation = incarnation
        self._recovered: RecordVersion | None = None if saved is None else version_of(saved)
        self._journals: set[int] = set()  # other ones, whose records were received
        self._reviews = 0
        self._new: list[ForeignRecord] = []
        self._unfinished = 0
        self._superseded: RecordVersion | None = None  # until this router knows the record that supersedes it

    @property
    def are_pending(self) -> bool:
        """Whether a record is not reviewed yet."""
        return bool(self._new or self._unfinished)

    @property
    def are_superseded(self) -> bool:
        """Whether this router knows its record, after all reviews: before, its own clients would find no home."""
        return self._superseded is None and not self.are_pending

    def is_unknown(self, own: HomeRecord | RecordEntry) -> bool:
        """Return whether this router's journal does not know a version of its record, and has to review it."""
        if not own.journal or own.incarnation == self._incarnation or self._reviews >= MAX_REVIEWS:
            return False
        if own.journal != self.journal:
            return own.journal not in self._journals
        return self._recovered is None or version_of(own).is_newer(self._recovered)

    def add(self, neighbour: str, record: HomeRecord) -> None:
        """Add an unknown version."""
        if record.journal == self.journal:
            self._recovered = version_of(record)
        else:
            self._journals.add(record.journal)
        self._reviews += 1
        self._new.append(ForeignRecord(neighbour, record))
        self._unfinished += 1

    def take(self) -> list[ForeignRecord]:
        """Return the records to be reviewed now; call `finish` for each one once that is on disk."""
        taken, self._new = self._new, []
        return taken

    def finish(self, foreign: ForeignRecord) -> None:
        """Record that the review of one record is on disk."""
        self._unfinished -= 1
        version = version_of(foreign.record)
        if self._superseded is None or version.is_newer(self._superseded):
            self._superseded = version

    def supersede(self, version: RecordVersion) -> None:
        """Record that this router knows a version of its own."""
        if self._superseded is not None and version.is_newer(self._superseded):
            self._superseded = None
