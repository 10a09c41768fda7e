"""Garbage collection of a router process: all objects are visited in quiet moments only.

    young objects     as always, after some hundred new ones: a few milliseconds
    all objects       in a quiet moment, at most once a minute; however busy it is, once an hour
    after that        if it took long, what is there now is frozen: only what comes later is visited, for an hour

A router makes few cycles, and none for filters: each connection of asyncio leaves one when it ends, of some 2 kB. A
cycle that was frozen is found within the hour.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from time import monotonic, thread_time

_YOUNG = 700, 10  # new objects, and collections of these, until the next collection of young objects
_NEVER = 1 << 30  # collections of young objects until all are visited
_INTERVAL = 1.0  # seconds between two looks at how busy the loop is
_QUIET = 0.1  # of the interval, at most, in which the loop was busy
_LEAST, _MOST = 60.0, 3600.0  # seconds between two visits of all objects
_LONG = 0.01  # seconds that a visit may take without freezing what it has found


class GarbageTimer:
    """Collects the garbage of this process in quiet moments."""

    def __init__(self, clock: Callable[[], float] = monotonic, busy: Callable[[], float] = thread_time) -> None:
        """Leave out what is loaded by now. busy: returns the seconds in which the loop has been busy."""
        self._clock = clock
        self._busy = busy
        self._looked = self._collected = self._thawed = clock()
        self._was_busy = busy()
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_YOUNG, _NEVER)

    async def run(self) -> None:
        """Look at regular intervals whether it is quiet."""
        while True:
            await asyncio.sleep(_INTERVAL)
            self.look()

    def look(self) -> bool:
        """Collect garbage if it is time for it and nothing else is to be done; return whether it was."""
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
