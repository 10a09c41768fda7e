"""The last results of a function of bytes, bounded by the bytes of its arguments.

`lru_cache` bounds a number of results. Filters take from 2 bytes to 64 KiB: their number says nothing about memory.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar

Result = TypeVar("Result")
_OVERHEAD: Final = 256  # bytes that an argument counts for besides its own


class ByteCache(Generic[Result]):
    """A function that keeps its last results; several threads may call it."""

    def __init__(self, function: Callable[[bytes], Result], most: int) -> None:
        """Initialise; most: bytes of the arguments whose results are kept."""
        self._function = function
        self._most = most
        self._results: dict[bytes, Result] = {}  # oldest first
        self._size = 0
        self._lock = Lock()

    def __call__(self, argument: bytes) -> Result:
        """Return the result for an argument."""
        try:
            return self._results[argument]
        except KeyError:
            result = self._function(argument)
        with self._lock:
            if argument not in self._results:
                self._results[argument] = result
                self._size += len(argument) + _OVERHEAD
                while self._size > self._most:
                    oldest = next(iter(self._results))
                    del self._results[oldest]
                    self._size -= len(oldest) + _OVERHEAD
        return result
