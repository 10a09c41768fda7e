"""Rows of the log in memory: set, size and time of each message, and how many subscriptions need it.

    positions    40   41   43   44   47         a chunk of at most 1,024 rows; those between are freed
    sets          3    3    5    3    5
    sizes       300   20   80   15   90
    times       5.0  5.0  6.5  6.5  7.0
    needs         2    0    0    1    1         41 and 43 are dead: no subscription needs them

A dead row is freed, also on disk, at the beginning of the log, and elsewhere when the dead rows of its chunk have at
least as many bytes as the others. So less than half of the log is dead, and each row is freed once. A row takes 18
bytes of memory; eight more where rows between are freed.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, compress
from typing import Final, NamedTuple

from cbnet.network.durable.home_log.journal import RecoveredRows

_CHUNK = 1_024  # rows
_ROW_BYTES: Final = 100  # of a message on disk without its content


class _Chunk:
    """Rows at ascending positions."""

    __slots__ = ("dead", "first", "live", "needs", "positions", "sets", "sizes", "times")

    def __init__(self, first: int) -> None:
        self.first = first  # position of the first row
        self.positions: array[int] | None = None  # None: there is no gap
        self.sets, self.sizes, self.times, self.needs = array("I"), array("I"), array("d"), array("H")
        self.live = self.dead = 0  # bytes on disk

    def __len__(self) -> int:
        return len(self.sets)

    def find(self, position: int) -> int:
        """Return the index of a row that is not freed."""
        return position - self.first if self.positions is None else bisect_left(self.positions, position)

    def position(self, index: int) -> int:
        """Return the position of a row."""
        return self.first + index if self.positions is None else self.positions[index]

    def add(self, position: int, set_id: int, size: int, time: float, needs: int) -> None:
        """Add a row after all others."""
        if self.positions is None and position != self.first + len(self.sets):
            self.positions = array("q", range(self.first, self.first + len(self.sets)))
        if self.positions is not None:
            self.positions.append(position)
        self.sets.append(set_id)
        self.sizes.append(size)
        self.times.append(time)
        self.needs.append(needs)
        if needs:
            self.live += size + _ROW_BYTES
        else:
            self.dead += size + _ROW_BYTES

    def extend(
        self, set_ids: Sequence[int], sizes: Sequence[int], time: float, needs: Sequence[int]
    ) -> None:  # fmt: skip
        """Add rows at the positions that follow; each is needed."""
        if self.positions is not None:
            following = self.positions[-1] + 1
            self.positions.extend(range(following, following + len(sizes)))
        self.sets.extend(set_ids)
        self.sizes.extend(sizes)
        self.times.extend([time] * len(sizes))
        self.needs.extend(needs)
        self.live += sum(sizes) + _ROW_BYTES * len(sizes)

    def rows(self, is_needed: Sequence[int]) -> Iterator[tuple[int, int, int, float, int]]:
        """Yield the chosen rows."""
        positions = range(self.first, self.first + len(self)) if self.positions is None else self.positions
        columns = positions, self.sets, self.sizes, self.times, self.needs
        return zip(*(compress(column, is_needed) for column in columns), strict=True)


class Freed(NamedTuple):
    """Rows that are freed."""

    spans: list[tuple[int, int]]  # positions of the first row, and after the last one
    sets: list[int]  # that of each row


class LogRows:
    """The rows of one log that are not freed."""

    def __init__(self, rows: RecoveredRows) -> None:
        """Create the rows found on disk; `need` counts who needs them."""
        self._chunks: list[_Chunk] = []
        self._firsts: list[int] = []  # of the chunks
        self._touched: dict[int, None] = {}  # positions of dead rows, one for each chunk at least
        for row in zip(rows.positions, rows.sets, rows.sizes, rows.times, strict=True):
            self.add(*row, 0)

    def add(self, position: int, set_id: int, size: int, time: float, needs: int) -> None:
        """Add a row after all others; needs: the number of subscriptions that need it."""
        if not self._chunks or len(self._chunks[-1]) >= _CHUNK:
            self._insert(len(self._chunks), _Chunk(position))
        self._chunks[-1].add(position, set_id, size, time, needs)

    def extend(
        self, position: int, set_ids: Sequence[int], sizes: Sequence[int], time: float, needs: Sequence[int]
    ) -> None:  # fmt: skip
        """Add rows at consecutive positions after all others, each needed by at least one subscription."""
        start = 0
        while start < len(sizes):
            last = self._chunks[-1] if self._chunks else None
            if last is None or len(last) >= _CHUNK or last.position(len(last) - 1) + 1 != position + start:
                self.add(position + start, set_ids[start], sizes[start], time, needs[start])
                start += 1
                continue
            end = min(len(sizes), start + _CHUNK - len(last))
            last.extend(set_ids[start:end], sizes[start:end], time, needs[start:end])
            start = end

    # --- lookup

    def _find(self, position: int) -> tuple[_Chunk, int]:
        chunk = self._chunks[bisect_right(self._firsts, position) - 1]
        return chunk, chunk.find(position)

    def size(self, position: int) -> int:
        """Return the size of the content of a message."""
        chunk, index = self._find(position)
        return chunk.sizes[index]

    def time(self, position: int) -> float:
        """Return the time of a message."""
        chunk, index = self._find(position)
        return chunk.times[index]

    def set_of(self, position: int) -> int:
        """Return the set of a message."""
        chunk, index = self._find(position)
        return chunk.sets[index]

    # --- changes

    def need(self, positions: Iterable[int]) -> int:
        """Count another subscription that needs some messages; return the size of their contents."""
        size = 0
        for position in positions:
            chunk, index = self._find(position)
            size += chunk.sizes[index]
            if not chunk.needs[index]:
                weight = chunk.sizes[index] + _ROW_BYTES
                chunk.live += weight
                chunk.dead -= weight
            chunk.needs[index] += 1
        return size

    def release(self, position: int) -> int:
        """Count that a subscription needs a message no more; return the size of its content."""
        chunk, index = self._find(position)
        size = chunk.sizes[index]
        chunk.needs[index] -= 1
        if not chunk.needs[index]:
            chunk.live -= size + _ROW_BYTES
            chunk.dead += size + _ROW_BYTES
            self._touched[chunk.first] = None
        return size

    def assign(self, position: int, set_id: int) -> None:
        """Change the set of a message."""
        chunk, index = self._find(position)
        chunk.sets[index] = set_id

    # --- freeing

    def free(self) -> Freed:
        """Remove the dead rows at the beginning, and those of chunks of which they are half."""
        freed = Freed([], [])
        if not self._touched:
            return freed
        touched, self._touched = self._touched, {}
        for first in sorted(touched):
            at = bisect_right(self._firsts, first) - 1
            if self._chunks[at].dead >= self._chunks[at].live:
                self._compact(at, freed)
        while self._chunks and not self._chunks[0].needs[0]:
            needed = accumulate(self._chunks[0].needs, max)  # from the first row that is needed on, all
            self._replace(0, [*needed], freed)
        return freed

    def free_all(self) -> Freed:
        """Remove all dead rows that may be freed, once it is known who needs which ones."""
        self._touched = dict.fromkeys(self._firsts)
        return self.free()

    def _compact(self, at: int, freed: Freed) -> None:
        """Remove all dead rows of a chunk, and unite it with the one before if both are small."""
        self._replace(at, self._chunks[at].needs, freed)
        if 0 < at < len(self._chunks) and len(self._chunks[at - 1]) + len(self._chunks[at]) <= _CHUNK // 2:
            chunk = self._remove(at)
            for row in chunk.rows([1] * len(chunk)):
                self._chunks[at - 1].add(*row)

    def _replace(self, at: int, kept: Sequence[int], freed: Freed) -> None:
        """Keep only some rows of a chunk."""
        chunk = self._remove(at)
        start = -1
        for index, is_kept in enumerate(chain(kept, (1,))):
            if not is_kept and start < 0:
                start = index
            elif is_kept and start >= 0:
                _join(freed.spans, chunk.position(start), chunk.position(index - 1) + 1)
                freed.sets.extend(chunk.sets[start:index])
                start = -1
        rows = [*chunk.rows(kept)]
        if rows:
            self._insert(at, _Chunk(rows[0][0]))
            for row in rows:
                self._chunks[at].add(*row)

    def _insert(self, at: int, chunk: _Chunk) -> None:
        self._chunks.insert(at, chunk)
        self._firsts.insert(at, chunk.first)

    def _remove(self, at: int) -> _Chunk:
        del self._firsts[at]
        return self._chunks.pop(at)


def _join(spans: list[tuple[int, int]], first: int, end: int) -> None:
    """Add a span, as a part of the last one if it follows it."""
    if spans and spans[-1][1] == first:
        spans[-1] = spans[-1][0], end
    else:
        spans.append((first, end))
