"""Reference counts for millions of filters."""

from __future__ import annotations

from array import array

from cbnet._kernels.filter_rows import FilterRows


class FilterCounts:
    """The number of times that each filter was added and not removed."""

    def __init__(self) -> None:
        self._rows = FilterRows()
        self._counts = array("I")  # by row

    def add(self, filter: bytes) -> bool:
        """Increment the count of a filter; return whether it is new."""
        row = self._rows.find(filter)
        if row >= 0:
            self._counts[row] += 1
            return False
        row = self._rows.insert(filter)
        if row == len(self._counts):
            self._counts.append(1)
        else:
            self._counts[row] = 1
        return True

    def remove(self, filter: bytes) -> bool:
        """Decrement the count of a filter that was added; return whether it has reached zero."""
        row = self._rows.find(filter)
        self._counts[row] -= 1
        if self._counts[row]:
            return False
        self._rows.delete(row)
        return True

    def __len__(self) -> int:
        return len(self._rows)
