"""Return of free memory to the system.

The C library of Linux keeps free memory while anything behind it in the heap is in use, such as 60 MB after a flood of
1,000 connections that was over within seconds. What has become free is returned within a second: in 20 ms for 150 MB,
and in a thousandth of the time at most. Free memory can be counted with glibc 2.33 or later only.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from math import inf
from time import monotonic
from typing import NamedTuple

_FREED = 1 << 24  # bytes that have become free, which are then returned to the system
_REST = 1_000  # times the duration of a look at the free memory, until the next one


class HeapReturn:
    """Returns free memory of the C library to the system."""

    def __init__(self, heap: Heap | None = None, clock: Callable[[], float] = monotonic) -> None:
        self._heap = glibc_heap() if heap is None else heap
        self._clock = clock
        self._returned = 0 if self._heap is None else self._heap.free_bytes()  # free, of which most was returned
        self._due = -inf  # time of the next look, at the earliest

    def look(self) -> bool:
        """Return free memory if there is much more than after the last time; return whether there was."""
        now = self._clock()
        if self._heap is None or now < self._due:
            return False
        free = self._heap.free_bytes()
        self._returned = min(self._returned, free)
        is_due = free >= self._returned + _FREED
        if is_due:
            self._heap.return_free()
            self._returned = self._heap.free_bytes()
        ended = self._clock()
        self._due = ended + _REST * (ended - now)
        return is_due


class Heap(NamedTuple):
    """The heap of the C library."""

    free_bytes: Callable[[], int]  # whether or not they were returned to the system
    return_free: Callable[[], object]


def glibc_heap() -> Heap | None:
    """Return the heap of glibc; None with other libraries."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    try:
        information, trim = library.mallinfo2, library.malloc_trim  # type: ignore[union-attr]
    except AttributeError:
        return None
    information.restype = _HeapInformation
    return Heap(lambda: int(information().fordblks), lambda: trim(0))


class _HeapInformation(ctypes.Structure):
    """`struct mallinfo2`."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip
