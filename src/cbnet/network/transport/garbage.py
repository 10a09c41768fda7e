"""Garbage collection of a router process, with full collections in quiet moments.

    young objects     as usual, after several hundred new ones: a few milliseconds
    all objects       in a quiet moment, at most once a minute; once an hour however busy the router is
    after that        if it took long, the existing objects are frozen: for an hour only newer ones are visited

A router creates few reference cycles, and none for filters: each asyncio connection leaves one of about 2 kB when it
ends. A frozen cycle is found within the hour.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from time import monotonic, thread_time

_YOUNG = 700, 10  # thresholds of the young generations: new objects, and collections of these
_NEVER = 1 << 30  # threshold of the oldest generation: no automatic full collections
_INTERVAL = 1.0  # seconds between checks of how busy the loop is
_QUIET = 0.1  # fraction of a quiet interval in which the loop was busy, at most
_LEAST, _MOST = 60.0, 3600.0  # seconds between full collections
_LONG = 0.01  # seconds; after a longer full collection, the remaining objects are frozen


class GarbageTimer:
    """Collects the garbage of this process in quiet moments."""

    def __init__(self, clock: Callable[[], float] = monotonic, busy: Callable[[], float] = thread_time) -> None:
        """Freeze the objects loaded so far. busy: returns the seconds for which the loop has been busy."""
        self._clock = clock
        self._busy = busy
        self._looked = self._collected = self._thawed = clock()
        self._was_busy = busy()
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_YOUNG, _NEVER)

    async def run(self) -> None:
        """Check at regular intervals whether a full collection is due."""
        while True:
            await asyncio.sleep(_INTERVAL)
            self.look()

    def look(self) -> bool:
        """Run a full collection if one is due, sooner while the loop is quiet; return whether it ran."""
        now, busy = self._clock(), self._busy()
        is_quiet = busy - self._was_busy <= _QUIET * (now - self._looked)
        self._looked, self._was_busy = now, busy
        if now - self._collected < (_LEAST if is_quiet else _MOST):
            return False
        if now - self._thawed >= _MOST:
            gc.unfreeze()
            self._thawed = now
        gc.collect()
        if self._busy() - busy > _LONG:
            gc.freeze()
        self._collected, self._was_busy = now, self._busy()
        return True
