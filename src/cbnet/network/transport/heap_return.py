"""Return of free memory to the system.

The C library of Linux keeps free memory while anything behind it in the heap is in use, such as 60 MB after a flood of
1,000 connections that was over within seconds. It is returned within seconds: in 20 ms for 150 MB, and in a hundredth
of the time at most. With glibc 2.33 or later only, which can tell how much is in use.

    memory of the process ─┬─ in use, as the C library counts
                           └─ not in use ─┬─ free, and not returned: what has been added since the last return
                                          └─ the memory of Python's objects, and what cannot be returned
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from math import inf
from pathlib import Path
from time import monotonic
from typing import NamedTuple

_UNUSED = 1 << 23  # bytes not in use that have been added since the last return, until the next one
_REST = 100  # times the duration of a look, until the next one


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
