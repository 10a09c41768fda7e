"""Many sets of numbered tags as flat arrays.

    {1, 4}  {4}  {2, 4, 9}        offsets   0   2 3     6      int64[n + 1]
                                  tags      1 4 4 2 4 9        int32, rising in each set

Tags are numbered by falling frequency, so the last tag of a set is its rarest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Tags: TypeAlias = NDArray[np.int32]
Numbers: TypeAlias = NDArray[np.int64]

_MAX_INT32 = 2**31 - 1


@dataclass(frozen=True, eq=False)
class TagSets:
    """Sets of tags, each a row of rising numbers."""

    offsets: Numbers
    tags: Tags

    @classmethod
    def of(cls, sets: Iterable[Iterable[int]]) -> TagSets:
        """Build the arrays from iterables of tags."""
        rows = [sorted(row) for row in sets]
        offsets = _offsets(np.array([len(row) for row in rows], dtype=np.int64))
        return cls(offsets, np.array([tag for row in rows for tag in row], dtype=np.int32))

    @classmethod
    def from_arrow(cls, lists: pa.Array) -> TagSets:
        """Read a column of lists of int32, without a copy where possible."""
        offsets = np.asarray(lists.offsets).astype(np.int64)
        if not len(offsets):  # an empty Arrow column may have none
            offsets = np.zeros(1, dtype=np.int64)
        tags = np.asarray(lists.values)[offsets[0] : offsets[-1]]
        return cls(offsets - offsets[0], np.ascontiguousarray(tags, dtype=np.int32))

    @classmethod
    def concatenate(cls, parts: Sequence[TagSets]) -> TagSets:
        """Concatenate several collections."""
        sizes = np.concatenate([part.sizes for part in parts]) if parts else np.zeros(0, dtype=np.int64)
        return cls(_offsets(sizes), np.concatenate([np.zeros(0, dtype=np.int32), *(part.tags for part in parts)]))

    def to_arrow(self) -> pa.Array:
        """Return a column of lists of int32; of large lists, if 32-bit offsets are too small."""
        return list_array(self.offsets, pa.array(self.tags))

    def to_lists(self) -> list[list[int]]:
        """Return the tags of each set."""
        tags, ends = self.tags.tolist(), self.offsets.tolist()
        return [tags[a:b] for a, b in pairwise(ends)]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> Numbers:
        """The number of tags of each set: int64[n]."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Numbers:
        """The set that each tag belongs to: int64[tags]."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def take(self, rows: NDArray[np.integer]) -> TagSets:
        """Return the sets of these rows, in their order."""
        offsets = _offsets(self.sizes[rows])
        positions = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], np.diff(offsets))
        return TagSets(offsets, self.tags[positions])

    def prefixes(self, sizes: Numbers) -> TagSets:
        """Return the first `sizes[i]` tags of each set i; sizes: int64[n]."""
        offsets = _offsets(sizes)
        positions = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1] - offsets[:-1], sizes)
        return TagSets(offsets, self.tags[positions])


def list_array(offsets: Numbers, elements: pa.Array) -> pa.Array:
    """Return a column of lists; offsets: int64[n + 1]."""
    if offsets[-1] > _MAX_INT32:
        return pa.LargeListArray.from_arrays(pa.array(offsets), elements)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), elements)


def _offsets(sizes: Numbers) -> Numbers:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
