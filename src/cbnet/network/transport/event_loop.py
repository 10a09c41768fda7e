"""Event loops: uvloop for clients, where it is installed; asyncio for routers, which collect garbage in quiet moments.

A client's call takes a quarter less time with uvloop. A router that forwards a stream takes a third more, because
asyncio reads each connection once per iteration, and uvloop up to 32 times before it serves the others.

A router collects garbage as follows:

    young objects     as usual, after several hundred new ones: a few milliseconds
    all objects       in a quiet moment, at most once a minute; once an hour however busy the router is
    after that        if it took long, the existing objects are frozen: for an hour only newer ones are visited

A router creates few reference cycles: none for filters, and none for the connections of clients, HTTP and WebSockets
included. A frozen cycle is found within the hour.

The C library of Linux keeps free memory while anything behind it in the heap is in use, such as 60 MB after a flood of
1,000 connections that was over within seconds. It is returned within seconds. Returning 150 MB takes 20 ms, and all
checks take at most 1 % of the time. This needs glibc 2.33 or later, which reports how much is in use.

    memory of the process ─┬─ in use, as the C library counts
                           └─ not in use ─┬─ free, and not returned: what has been added since the last return
                                          └─ the memory of Python's objects, and what cannot be returned
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import sys
from collections.abc import Callable, Coroutine
from importlib import import_module
from math import inf
from pathlib import Path
from time import monotonic, thread_time
from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result")
_SWITCH_INTERVAL = 0.00025  # seconds; the loop lets other threads run several times for each message
_YOUNG = 700, 10  # thresholds of the young generations: new objects, and collections of these
_NEVER = 1 << 30  # threshold of the oldest generation: no automatic full collections
_INTERVAL = 1.0  # seconds between checks of how busy the loop is
_QUIET = 0.1  # fraction of a quiet interval in which the loop was busy, at most
_LEAST, _MOST = 60.0, 3600.0  # seconds between full collections
_LONG = 0.01  # seconds; after a longer full collection, the remaining objects are frozen
_UNUSED = 1 << 23  # bytes not in use that have been added since the last return, until the next one
_REST = 100  # times the duration of a look, until the next one


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop for a client."""
    try:
        loop: asyncio.AbstractEventLoop = import_module("uvloop").new_event_loop()
    except ImportError:
        return asyncio.new_event_loop()
    return loop


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine of a client in a new event loop and return its result."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(main)


def run_router(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine of a router in a new event loop and return its result.

    The garbage collector skips the objects loaded so far, which stay. A thread that reads
    predicates, or compiles filters, yields to the loop within a quarter of a millisecond.
    """
    sys.setswitchinterval(_SWITCH_INTERVAL)
    # Windows' default event loop cannot accept connections in batches, as the acceptor does.
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        return runner.run(_with_collection(main))


async def _with_collection(main: Coroutine[Any, Any, Result]) -> Result:
    collecting = asyncio.ensure_future(GarbageTimer().run())
    try:
        return await main
    finally:
        collecting.cancel()


async def wait_first(*coroutines: Coroutine[Any, Any, object]) -> None:
    """Wait for the first of several coroutines to finish, and cancel the others."""
    tasks = [asyncio.ensure_future(each) for each in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class GarbageTimer:
    """Collects the garbage of this process in quiet moments."""

    def __init__(self, clock: Callable[[], float] = monotonic, busy: Callable[[], float] = thread_time) -> None:
        """Freeze the objects loaded so far. busy: returns the seconds for which the loop has been busy."""
        self._heap = HeapReturn(clock=clock)
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
        self._heap.look()
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


# --- memory of the C library


class HeapReturn:
    """Returns free memory of the C library to the system."""

    def __init__(self, heap: Heap | None = None, clock: Callable[[], float] = monotonic) -> None:
        self._heap = glibc_heap() if heap is None else heap
        self._clock = clock
        self._least = 0 if self._heap is None else self._heap.unused_bytes()  # since the last return
        self._due = -inf  # time of the next look, at the earliest

    def look(self) -> bool:
        """Return free memory if much has been added since the last time; return whether it was."""
        now = self._clock()
        if self._heap is None or now < self._due:
            return False
        unused = self._heap.unused_bytes()
        self._least = min(self._least, unused)
        is_due = unused >= self._least + _UNUSED
        if is_due:
            self._heap.return_free()
            self._least = self._heap.unused_bytes()
        ended = self._clock()
        self._due = ended + _REST * (ended - now)
        return is_due


class Heap(NamedTuple):
    """The heap of the C library."""

    unused_bytes: Callable[[], int]  # of the process, that the C library does not count as in use
    return_free: Callable[[], object]


def glibc_heap() -> Heap | None:
    """Return the heap of glibc; None with other libraries."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    try:
        information, trim = library.mallinfo2, library.malloc_trim  # type: ignore[union-attr]
    except AttributeError:
        return None
    information.restype = _HeapInformation

    def unused_bytes() -> int:
        found = information()
        return _resident() - int(found.uordblks) - int(found.hblkhd)

    return Heap(unused_bytes, lambda: trim(0))


def _resident() -> int:
    """Return the memory of this process without that of files, in bytes."""
    _, resident, shared, *_ = map(int, Path("/proc/self/statm").read_bytes().split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


class _HeapInformation(ctypes.Structure):
    """`struct mallinfo2`."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip
