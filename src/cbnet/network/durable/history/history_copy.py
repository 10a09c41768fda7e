"""Copy of a history into a durable subscription that begins in the past.

    history ── slices of matches ──► subscription      until the end of the history: then it receives messages directly

The position of the copy is saved in the same transaction as the messages, so it resumes after a restart without gaps or
duplicates. While the subscription is full and refuses further messages, the copy waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from cbnet.network.durable.history.history import is_note
from cbnet.network.durable.history.replays import Replays
from cbnet.network.durable.journal import Entry, SaveSubscription
from cbnet.network.durable.journal_queue import JournalQueue
from cbnet.network.durable.storing.home import Home
from cbnet.network.durable.subscription.durable_subscription import DurableSubscription

_ROOM = 256  # messages; the limits of the subscription are checked for each


def copy_key(subscription: int) -> int:
    """Return the number of a durable subscription among the readers of the history."""
    return -subscription


class HistoryCopy:
    """The copy for one durable subscription."""

    def __init__(
        self,
        subscription: DurableSubscription,
        home: Home,
        queue: JournalQueue,
        replays: Replays,
        on_end: Callable[[DurableSubscription], None],
    ) -> None:
        """Initialise; on_end: called when all messages are copied, in the turn in which the last one is."""
        self._subscription = subscription
        self._home = home
        self._queue = queue
        self._replays = replays
        self._on_end = on_end
        self.key = copy_key(subscription.id)
        self.cursor = subscription.saved.start
        self.is_reading = False

    @property
    def room(self) -> int:
        """The number of messages to read now."""
        return 0 if self._subscription.refusal(1) else _ROOM

    def take(self, entry: Entry) -> bool:
        """Store a message, unless the subscription is full and refuses it; return whether it was stored."""
        if self._subscription.refusal(len(entry.content)):
            return False
        self._home.copy(self._subscription, entry)
        return True

    def missed(self, text: str, messages: int) -> None:
        """Count missing messages; the loss is saved together with the position of the copy."""
        self._subscription.losses.add(messages, text)

    def advanced(self) -> None:
        """Save the position of the copy."""
        saved = self._subscription.saved
        if saved.start and saved.start != self.cursor:
            self._save(self.cursor)

    def reached_end(self, unwritten: Iterable[Entry]) -> None:
        """Copy also the messages that are not on disk yet, and end: the subscription now receives messages directly."""
        for entry in unwritten:
            if entry.offset < self.cursor:
                continue
            if is_note(entry):
                self.missed(entry.source, entry.number)
            elif self._replays.matches(self.key, entry) and not self.take(entry):
                self.cursor = entry.offset
                self.advanced()
                return
            self.cursor = entry.offset + 1
        self._replays.remove(self.key)
        self._save(0)
        self._on_end(self._subscription)

    def _save(self, start: int) -> None:
        self._subscription.saved = replace(self._subscription.saved, start=start)
        self._queue.add(SaveSubscription(self._subscription.saved))
