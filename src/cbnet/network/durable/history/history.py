"""History of a router: the messages that match a predicate, in the order in which they were stored.

    offsets   1 … 119    120 … 480    481  482         483
              dropped    on disk      being written    next

It is stored like a durable subscription that nobody acknowledges; beyond its limits, the oldest messages are dropped.
Offsets never decrease, even across restarts, and neither do times: a message gets the time of the wall clock, or that
of the previous message if it is later. A *note* is stored where messages may be missing, and has an offset, too.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from typing import NamedTuple

from cbnet.errors import InputError
from cbnet.language.predicate import Predicate
from cbnet.language.relations.covering import covers
from cbnet.language.syntax.byte_form import predicate_to_bytes
from cbnet.language.syntax.parser import parse
from cbnet.network.durable.backlog import Backlog
from cbnet.network.durable.journal import (
    HISTORY_ID,
    Append,
    Discard,
    Entry,
    ReadResult,
    RecoveredState,
    SavedSubscription,
    SaveSubscription,
)
from cbnet.network.durable.journal_queue import JournalQueue
from cbnet.network.link.context import RouterContext
from cbnet.network.logs import log
from cbnet.network.protocol.durable_frames import NO_LIMITS, HistoryField, HistoryStart, Replaying
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

    def __init__(self, context: RouterContext, queue: JournalQueue, state: RecoveredState) -> None:
        self._context = context
        self._queue = queue
        self.journal = state.id
        self.text = context.settings.history or ""
        self.predicate: Predicate = parse(self.text)
        self.filters = predicate_to_bytes(self.text)
        self.backlog = Backlog(state.next_offsets.get(HISTORY_ID, 1), state.stock.get(HISTORY_ID, ()))
        self.on_disk = self.backlog.next  # offsets below are on disk
        self.unwritten: deque[Entry] = deque()  # the others
        self.on_written: Callable[[Sequence[Entry]], None] = lambda _: None
        self.on_read: Callable[[ReadResult], None] = lambda _: None
        self.replays: Callable[[], int] = lambda: 0  # returns the number of subscriptions that read it
        self._awaited = self.backlog.next  # offsets below are submitted
        self._dropped = self.backlog.first  # offsets below are dropped from the disk, too
        self._unstored = 0  # messages that could not be stored since the last note
        self._complete = 0.0  # time since which all messages are kept
        self._time = 0.0  # of the last message
        self._open(next((each for each in state.subscriptions if each.id == HISTORY_ID), None))

    def _open(self, saved: SavedSubscription | None) -> None:
        """Continue from the state found on disk."""
        is_continued = saved is not None and bool(saved.predicate)
        now = self._queue.time()
        self._complete = min(saved.since, now) if saved is not None and is_continued else now
        if self.backlog.messages:
            self._time = self.backlog.time(self.backlog.next - 1)
        if saved is None or (saved.predicate, saved.since) != (self.text, self._complete):
            self._save()
        if saved is not None and is_continued:
            name = self._context.name
            if saved.predicate != self.text:
                log(logging.INFO, "history changed", before=saved.predicate, after=self.text)
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
        first, following, name = min(self.backlog.first, self.on_disk), self.backlog.next, self._context.name
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
        offset = min(self.backlog.since(now - start.age), self.on_disk)
        return StartPoint(offset, text if now - start.age < self._complete else "")

    def replaying(self, id: int, start: StartPoint) -> Replaying:
        """Return the frame that confirms a start in the past."""
        return Replaying(id, self.journal, start.offset, self.backlog.next)

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
            raise InputError(f"the history of {self._context.name} lacks messages that match this predicate", hint=hint)
        raise InputError(
            f"the history of {self._context.name} has only messages that match {self.text}",
            hint=f"subscribe to a part of that, as in ({self.text}) and …",
        )

    def status(self, *, is_whole: bool) -> HistoryField:
        """Return the state of the history; the predicate only if `is_whole`."""
        backlog = self.backlog
        return HistoryField(
            predicate=self.text if is_whole else "",
            messages=backlog.messages,
            bytes=backlog.bytes,
            first=backlog.first,
            next=backlog.next,
            oldest=backlog.time(backlog.first) if backlog.messages else 0.0,
            complete=self._complete,
            replays=self.replays(),
        )

    # --- storing

    def refusal(self, _: int) -> str:
        """Return an empty string: no message is refused."""
        return ""

    def append(self, source: str, incarnation: int, number: int, content: bytes, time: float) -> int:
        """Store a message; return 0, as messages dropped for it are not lost to a subscription."""
        if self._unstored:
            self._note_unstored()
        self._append(source, incarnation, number, content, time)
        return 0

    def refuse(self) -> None:
        """Count a message that cannot be stored."""
        self._unstored += 1

    def _note_unstored(self) -> None:
        count, self._unstored = self._unstored, 0
        self.note(f"{count:,} messages are missing in the history of {self._context.name}: its journal failed", count)

    def note(self, text: str, messages: int = 0) -> None:
        """Store a note that messages may be missing here; messages: their maximum number, 0 if unknown."""
        self._append(text[:MAX_REASON_LENGTH], 0, messages, _NOTE, self._queue.time())

    def _append(self, source: str, incarnation: int, number: int, content: bytes, time: float) -> None:
        self._time = max(self._time, time)
        offset = self.backlog.append(len(content), self._time)
        entry = Entry(HISTORY_ID, offset, self._time, source, incarnation, number, content)
        self.unwritten.append(entry)
        self._queue.add(Append(entry))
        settings, backlog = self._context.settings, self.backlog
        while backlog.messages > 1 and (
            backlog.messages > settings.history_messages or backlog.bytes > settings.history_bytes
        ):
            self._drop_first()

    def expire(self, now: float) -> None:
        """Drop messages that are too old by the wall clock."""
        age, backlog = self._context.settings.history_age, self.backlog
        while age and backlog.messages and backlog.time(backlog.first) < now - age:
            self._drop_first()

    def _drop_first(self) -> None:
        self._complete = max(self._complete, self.backlog.time(self.backlog.first))
        self.backlog.remove(self.backlog.first)

    def flush(self) -> None:
        """Write the drops of this turn, at its end; report stored messages once they are on disk."""
        if self.backlog.first > self._dropped:
            self._queue.add(Discard(HISTORY_ID, self._dropped, self.backlog.first))
            self._save()
            self._dropped = self.backlog.first
        if self.unwritten and self.unwritten[-1].offset >= self._awaited:
            end = self._awaited = self.backlog.next
            self._queue.after(lambda: self.written(end))

    def written(self, end: int) -> None:
        """Report the messages that are now on disk: all before an offset."""
        self.on_disk = max(self.on_disk, end)
        entries: list[Entry] = []
        while self.unwritten and self.unwritten[0].offset < end:
            entries.append(self.unwritten.popleft())
        if entries:
            self.on_written(entries)

    def read(self, result: ReadResult) -> None:
        """Handle messages that were read."""
        self.on_read(result)

    def deliver(self, _: float) -> None:
        """Do nothing: replays resume once messages are on disk."""


def no_history(router: str) -> Refusal:
    """Return the error of a router that keeps no history."""
    hint = 'set history = "PREDICATE" in its configuration, or subscribe without a start in the past'
    return Refusal(f"router {router} keeps no history", ReasonCode.NO_HISTORY, hint=hint)


def is_note(entry: Entry) -> bool:
    """Return whether an entry is a note, whose text is in `source` and whose number of messages in `number`."""
    return entry.content == _NOTE


def open_history(context: RouterContext, queue: JournalQueue, state: RecoveredState) -> History | None:
    """Return the history of a router, if its settings have one.

    Without the setting, its messages stay on disk, whatever their age; an empty setting removes them.
    """
    setting = context.settings.history
    if setting:
        return History(context, queue, state)
    saved = next((each for each in state.subscriptions if each.id == HISTORY_ID), None)
    if saved is None or not saved.predicate:
        return None
    messages = sum(item.size > 0 for item in state.stock.get(HISTORY_ID, ()))  # without notes
    if setting is None:
        reason = "the setting `history` is missing, so its messages stay in the journal, and new ones are not added"
        hint = "set it to the predicate to continue, or to an empty string to remove them"
        log(logging.WARNING, "history unused", messages=messages, predicate=saved.predicate, reason=reason, hint=hint)
        queue.add(SaveSubscription(_saved(saved.predicate, _UNUSED)))
    else:
        log(logging.WARNING, "history removed", messages=messages, predicate=saved.predicate)
        queue.add(Discard(HISTORY_ID, 0, state.next_offsets[HISTORY_ID]))
        queue.add(SaveSubscription(_saved("", 0.0)))  # offsets never decrease
    return None


def _saved(predicate: str, complete: float) -> SavedSubscription:
    return SavedSubscription(HISTORY_ID, "", "history", predicate, NO_LIMITS, since=complete)
