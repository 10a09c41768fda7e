"""Dominance among filters: covering, made an order by the canonical form of filters that cover each other.

A filter dominates another if it covers it and, if they cover each other, comes first in the canonical order: fewer
parts, then smaller bytes. That is the order of the encoded filters, which begin with the number of their parts.

The answers are exact, with one exception: after MAX_FAILED negative decisions about the dominators of one filter the
remaining candidates are skipped, and the filter may be announced although it is covered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cbnet._kernels.filter_rows import FilterRows
from cbnet.language.relations.cover_index import NO_LIMIT, CoverIndex

MAX_FAILED = 2000  # failed comparisons per filter: some 40 ms
_FEW = 32  # dominators to look up first; they usually suffice


class DominanceIndex(CoverIndex):
    """Rows of filters in byte form, and which dominate which."""

    def __init__(self, filters: Sequence[bytes] | FilterRows) -> None:
        super().__init__(filters)
        self.candidates = 0  # rows compared in the last search for dominated rows

    def dominates(self, wide: int, row: int) -> bool:
        """Return whether the row `wide`, which may be absent, dominates `row`."""
        return wide != row and wide in self and self.covers(wide, row) and self._is_first(wide, row)

    def dominators(self, row: int) -> Iterator[int]:
        """Yield the rows that dominate a row, possibly with repetitions."""
        sure, possible = self._rows.wide(row, _FEW)
        if len(sure) >= _FEW:
            yield from (wide for wide in sure if self._is_first(wide, row))
            sure, possible = self._rows.wide(row, 0)
        for wide in [*sure, *self._decided(row, possible)] if possible else sure:
            if self._is_first(wide, row):
                yield wide

    def covering(self, row: int) -> Iterator[int]:
        """Yield the rows that cover a row."""
        sure, possible = self._rows.wide(row, 0)
        yield from sure
        yield from self._decided(row, possible)

    def dominated(self, row: int, limit: int = NO_LIMIT) -> Iterable[int] | None:
        """Return the rows that a row dominates.

        None if there are more than `limit` candidates: `dominated_among` finds them in slices.
        """
        found = self._rows.narrow(row, limit)
        if found is None:
            self.candidates = limit
            return None
        sure, possible = found
        self.candidates = len(sure) + len(possible)
        return self._dominated(row, sure, possible) if sure or possible else ()

    def dominated_among(self, row: int, start: int, end: int, limit: int) -> tuple[Iterable[int], int]:
        """Return at most `limit` rows from `start` to `end` that a row dominates, and the next row to visit."""
        sure, possible, stop = self._rows.narrow_among(row, start, end, limit)
        return self._dominated(row, sure, possible), stop

    def _dominated(self, row: int, sure: list[int], possible: list[int]) -> Iterator[int]:
        for narrow in [*sure, *(each for each in possible if self._implies(row, each))]:
            if self._is_first(row, narrow):
                yield narrow

    def _is_first(self, wide: int, narrow: int) -> bool:
        """Return whether a row dominates one that it covers."""
        return self._filters[wide] < self._filters[narrow] or not self.covers(narrow, wide)

    def _decided(self, row: int, possible: list[int]) -> Iterator[int]:
        """Yield the rows that cover a row, from undecided candidates."""
        failed = 0
        for wide in possible:
            if self._implies(wide, row):
                yield wide
            else:
                failed += 1
                if failed == MAX_FAILED:
                    return
