"""Publishers that a home knows: their windows in memory and in the journal, bounded in time and number.

    new ──► known, from its first message that is stored, saved with it ──► no message for `PUBLISHER_AGE`: forgotten

A message can be sent again for at most `MAX_SECONDS`, the longest timeout of a publisher, so a forgotten window is no
longer needed. While `MAX_PUBLISHERS` are known, messages of others are refused: forgetting a publisher earlier could
store a message twice. Time is measured by the router's own clock, independent of the wall clock; it starts again after
a restart.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from cbnet.network.durable.journal import DropWindow, SaveWindow
from cbnet.network.durable.journal_queue import JournalQueue
from cbnet.network.durable.storing.publisher_window import PublisherWindow
from cbnet.network.link.context import RouterContext
from cbnet.network.protocol.fields import MAX_SECONDS

PUBLISHER_AGE: Final = 2 * MAX_SECONDS  # seconds for which a publisher is known after its last message
MAX_PUBLISHERS: Final = 200_000  # known at once
_MAX_FORGOTTEN: Final = 1_000  # at a time: less than a millisecond


class PublisherWindows:
    """The windows of all publishers that one home knows."""

    def __init__(self, context: RouterContext, queue: JournalQueue, saved: Iterable[SaveWindow]) -> None:
        self._context = context
        self._queue = queue
        self._known = OrderedDict((each.publisher, PublisherWindow.recovered(each)) for each in saved)  # oldest first
        self._changed: dict[int, PublisherWindow] = {}  # in this turn

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, publisher: int) -> bool:
        return publisher in self._known

    def of(self, publisher: int) -> PublisherWindow:
        """Return the window of a publisher that has sent a message; if it is unknown, an empty one that is not kept."""
        window = self._known.get(publisher)
        if window is None:
            return PublisherWindow(publisher)
        window.used = self._context.now
        self._known.move_to_end(publisher)
        return window

    def refusal(self, publisher: int) -> str:
        """Return why no message of a publisher can be stored; empty if it can."""
        if publisher in self._known or len(self._known) < MAX_PUBLISHERS:
            return ""
        age = f"{PUBLISHER_AGE:,.0f} s"
        return f"too many publishers: {len(self._known):,} are known; each is forgotten {age} after its last message"

    def keep(self, window: PublisherWindow) -> None:
        """Add a publisher to the known ones; save its window at the end of this turn."""
        if window.publisher not in self._known:
            window.used = self._context.now
            self._known[window.publisher] = window
        self._changed[window.publisher] = window

    def finish_turn(self) -> None:
        """Save the windows that were changed."""
        for window in self._changed.values():
            self._queue.add(window.saved())
        self._changed = {}

    def expire(self) -> None:
        """Forget publishers that have been inactive for `PUBLISHER_AGE`, some at a time."""
        for _ in range(_MAX_FORGOTTEN):
            oldest = next(iter(self._known.values()), None)
            if oldest is None or self._context.now - oldest.used < PUBLISHER_AGE:
                return
            del self._known[oldest.publisher]
            self._queue.add(DropWindow(oldest.publisher))
