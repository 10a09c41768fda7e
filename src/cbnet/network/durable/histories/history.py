"""History of a router: the messages that match a predicate, in the order in which they were stored.

    offsets   1 … 119    120 … 480    481  482         483
              dropped    on disk      being written    next

It is a subscription of the log that nobody acknowledges; beyond its limits, the oldest messages are dropped. Offsets
never decrease, even across restarts, and neither do times. A *note* is stored where messages may be missing, and has an
offset, too.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import inf
from typing import NamedTuple

from cbnet.errors import InputError
from cbnet.language.predicate import Predicate
from cbnet.language.relations.covering import covers
from cbnet.language.syntax.byte_form import predicate_to_bytes
from cbnet.language.syntax.parser import parse
from cbnet.network.durable.home_log.journal import HISTORY_ID, Entry, SavedSubscription, SaveSubscription
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.durable.home_log.log import Log
from cbnet.network.durable.home_log.message_run import RunPart
from cbnet.network.link.context import RouterContext
from cbnet.network.logs import log as log_event
from cbnet.network.protocol.durable_frames import NO_LIMITS, DurableLimits, HistoryStart, Replaying
from cbnet.network.protocol.durable_operation_frames import HistoryField
from cbnet.network.protocol.fields import MAX_REASON_LENGTH
from cbnet.network.protocol.reasons import ReasonCode, Refusal

_NOTE = b""  # content of a note; that of a message is never empty
_UNUSED = inf  # in place of the time since which all messages are kept: the router was started without the setting


class StartPoint(NamedTuple):
    """The first offset of a subscription, and a text about missing messages before it; empty if none are missing."""

    offset: int
    missing: str


class History:
    """The history of one router."""

    id = HISTORY_ID
    owner = "", ""

    def __init__(
        self, context: RouterContext, queue: JournalQueue, log: Log, journal: int, saved: SavedSubscription | None
    ) -> None:  # fmt: skip
        """Initialise; journal: its number; saved: the history found on disk."""
        self._context = context
        self._queue = queue
        self._log = log
        self.journal = journal
        self.text = context.settings.history or ""
        self.predicate: Predicate = parse(self.text)
        self.filters = predicate_to_bytes(self.text)
        self.cursor = log.cursors.get(HISTORY_ID) or log.open(HISTORY_ID, log.next)
        self.on_disk = self.cursor.next  # offsets below are on disk
        self.unwritten: deque[tuple[int, Entry]] = deque()  # the others
        self.on_written: Callable[[Sequence[tuple[int, Entry]]], None] = lambda _: None
        self.replays: Callable[[], int] = lambda: 0  # returns the number of subscriptions that read it
        self._unstored = 0  # messages that could not be stored since the last note
        self._complete = 0.0  # time since which all messages are kept
        self._open(saved)

    def _open(self, saved: SavedSubscription | None) -> None:
        """Continue from the state found on disk."""
        is_continued = saved is not None and bool(saved.predicate)
        now = self._queue.time()
        self._complete = min(saved.since, now) if saved is not None and is_continued else now
        if saved is None or (saved.predicate, saved.since) != (self.text, self._complete):
            self._save()
        if saved is not None and is_continued:
            name = self._context.home
            if saved.predicate != self.text:
                log_event(logging.INFO, "history changed", before=saved.predicate, after=self.text)
                self.note(f"the history of {name} had another predicate before")
            if saved.since == _UNUSED:
                self.note(f"{name} kept no history for a time: messages that were published meanwhile are missing")
            else:
                self.note(f"{name} was restarted: messages that were published meanwhile may be missing")

    def _save(self) -> None:
        self._queue.add(SaveSubscription(_saved(self.text, self._complete)))

    # --- lookup

    def locate(self, start: HistoryStart) -> StartPoint:
        """Return the start point of a subscription; raise an `InputError` if the history has no such offset."""
        # Offsets that are not on disk yet may be lost in a crash, and the client would reconnect with one of them.
        first, following, name = min(self.cursor.first, self.on_disk), self.cursor.next, self._context.home
        if start.offset is not None:
            if start.journal not in (0, self.journal):
                raise Refusal(
                    f"offset {start.offset:,} belongs to the history of another router than {name}, or of a lost "
                    "journal",
                    ReasonCode.OTHER_HISTORY,
                    hint="connect to that router, or begin at a time",
                )
            if start.offset > following:
                hint = f"begin at {first:,} to {following:,}"
                raise InputError(f"the history of {name} has no offset {start.offset:,}", hint=hint)
            missing = first - start.offset
            text = f"the history of {name} begins at offset {first:,}: {missing:,} messages before are not kept"
            return StartPoint(max(first, start.offset), text if start.offset and missing > 0 else "")
        if start.age is None:
            return StartPoint(first, "")
        now = self._queue.time()
        text = f"the history of {name} is complete for the last {max(0.0, now - self._complete):,.0f} s only"
        offset = min(self.cursor.since(now - start.age), self.on_disk)
        return StartPoint(offset, text if now - start.age < self._complete else "")

    def replaying(self, id: int, start: StartPoint) -> Replaying:
        """Return the frame that confirms a start in the past."""
        return Replaying(id, self.journal, start.offset, self.cursor.next)

    def check(self, _: float) -> None:
        """Store a note about messages that could not be stored, once the journal accepts messages again."""
        if self._unstored and not self._queue.refusal:
            self._note_unstored()

    def check_contains(self, wanted: Predicate, *, is_shown: bool) -> None:
        """Raise an `InputError` unless all messages that match a predicate are in the history.

        is_shown: whether the error may state the predicate of the history.
        """
        if covers(self.predicate, wanted):
            return
        if not is_shown:
            hint = "ask the operator for its predicate, or subscribe without a start in the past"
            raise InputError(f"the history of {self._context.home} lacks messages that match this predicate", hint=hint)
        raise InputError(
            f"the history of {self._context.home} has only messages that match {self.text}",
            hint=f"subscribe to a part of that, as in ({self.text}) and …",
        )

    def status(self, *, is_whole: bool) -> HistoryField:
        """Return the state of the history; the predicate only if `is_whole`."""
        cursor = self.cursor
        return HistoryField(
            predicate=self.text if is_whole else "",
            messages=cursor.messages,
            bytes=cursor.bytes,
            first=cursor.first,
            next=cursor.next,
            oldest=cursor.time(cursor.first) if cursor.messages else 0.0,
            complete=self._complete,
            replays=self.replays(),
        )

    # --- storing

    def refusal(self, _: int) -> str:
        """Return an empty string: no message is refused."""
        return ""

    def has_room(self, *_: int) -> bool:
        """Return True: older messages make room, and are lost to nobody."""
        return True

    def extend(self, part: RunPart) -> None:
        """Add new messages of the log to the cursor."""
        for entry in part.entries:
            self.append(entry)

    def append(self, entry: Entry) -> int:
        """Add a new message of the log to the cursor; return 0, as messages dropped for it are not lost to anybody."""
        self._drop(self.cursor.surplus(self._limits, len(entry.content)))
        self.unwritten.append((self.cursor.append(entry.position, len(entry.content)), entry))
        return 0

    def refuse(self, _: int | None = None) -> None:
        """Count a message that cannot be stored."""
        self._unstored += 1
        if self._unstored == 1:
            self._log.before_append(self._note_unstored)

    def _note_unstored(self) -> None:
        count, self._unstored = self._unstored, 0
        if count:
            name = self._context.home
            self.note(f"{count:,} messages are missing in the history of {name}: its journal failed", count)

    def note(self, text: str, messages: int = 0) -> None:
        """Store a note that messages may be missing here; messages: their maximum number, 0 if unknown."""
        self.append(self._log.append([HISTORY_ID], text[:MAX_REASON_LENGTH], 0, messages, _NOTE))

    @property
    def _limits(self) -> DurableLimits:
        settings = self._context.settings
        return _limits(settings.history_messages, settings.history_bytes, settings.history_age)

    def expire(self, now: float) -> None:
        """Drop messages that are too old by the wall clock."""
        self._drop(self.cursor.outdated(self._limits.age, now))

    def _drop(self, offsets: Iterable[int]) -> None:
        for offset in offsets:
            self._complete = max(self._complete, self.cursor.time(offset))
            self.cursor.remove(offset)
            self._queue.before_submit(self._save)

    def deliver(self, _: float) -> None:
        """Report the messages that are now on disk."""
        entries: list[tuple[int, Entry]] = []
        while self.unwritten and self.unwritten[0][1].position < self._log.on_disk:
            entries.append(self.unwritten.popleft())
        if entries:
            self.on_disk = entries[-1][0] + 1
            self.on_written(entries)


def no_history(router: str) -> Refusal:
    """Return the error of a router that keeps no history."""
    hint = 'set history = "PREDICATE" in its configuration, or subscribe without a start in the past'
    return Refusal(f"router {router} keeps no history", ReasonCode.NO_HISTORY, hint=hint)


def is_note(entry: Entry) -> bool:
    """Return whether an entry is a note, whose text is in `source` and whose number of messages in `number`."""
    return entry.content == _NOTE


def open_history(
    context: RouterContext, queue: JournalQueue, log: Log, journal: int, saved: SavedSubscription | None
) -> History | None:
    """Return the history of a router, if its settings have one.

    Without the setting, its messages stay on disk, whatever their age; an empty setting removes them.
    """
    setting = context.settings.history
    if setting:
        return History(context, queue, log, journal, saved)
    if saved is None or not saved.predicate:
        return None
    cursor = log.cursors[HISTORY_ID]
    messages = sum(cursor.size(offset) > 0 for offset in cursor)  # without notes
    if setting is None:
        reason = "the setting `history` is missing, so its messages stay in the journal, and new ones are not added"
        hint = "set it to the predicate to continue, or to an empty string to remove them"
        found = {"messages": messages, "predicate": saved.predicate}
        log_event(logging.WARNING, "history unused", **found, reason=reason, hint=hint)
        queue.add(SaveSubscription(_saved(saved.predicate, _UNUSED)))
    else:
        log_event(logging.WARNING, "history removed", messages=messages, predicate=saved.predicate)
        cursor.clear()  # offsets never decrease
        queue.add(SaveSubscription(_saved("", 0.0)))
    return None


@lru_cache(maxsize=16)
def _limits(messages: int, bytes: int, age: float) -> DurableLimits:
    return DurableLimits(messages, bytes, age, "drop oldest")


def _saved(predicate: str, complete: float) -> SavedSubscription:
    return SavedSubscription(HISTORY_ID, "", "history", predicate, NO_LIMITS, since=complete)
