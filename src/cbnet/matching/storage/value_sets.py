"""The sets of `x in (1, 2, "a")`, each once.

    offsets  0       3     5 …      uint32[sets + 1]; the operand of an `in` word is the number of a set
    members  │ m m m │ m m │ …      uint64: type << 32 | rank, ascending in each set

The rank of a member is that of a constraint's operand: in the numbers or strings of the table, 0 or 1 for a
bool, 0 for null. Sets are sorted by their size and then their members, so that a set can be found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cbnet.language.values import ValueType
from cbnet.matching.storage.codes import SYMBOL_SHIFT, TEST_SHIFT, Test

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array

TYPE_SHIFT = 32  # of a member


@dataclass(frozen=True)
class Sets:
    """Sets of constants as flat arrays."""

    offsets: Array
    members: Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> list[tuple[ValueType, int]]:
        members = self.members[self.offsets[index] : self.offsets[index + 1]].tolist()
        return [(ValueType(member >> TYPE_SHIFT), member & 0xFFFFFFFF) for member in members]

    def rows(self) -> list[Array]:
        """Return the members of each set."""
        return np.split(self.members, self.offsets[1:-1].astype(np.int64)) if len(self) else []


def no_sets() -> Sets:
    """Return an empty list of sets."""
    return Sets(np.zeros(1, np.uint32), np.empty(0, np.uint64))


def pack_sets(rows: Sequence[Array]) -> tuple[Sets, Array]:
    """Return the distinct sets among some, given by their sorted members, and the number of each given one."""
    keys = [(len(row), row.astype(">u8").tobytes()) for row in rows]
    numbers = {key: number for number, key in enumerate(sorted(set(keys)))}
    members = np.frombuffer(b"".join(key for _, key in numbers), ">u8").astype(np.uint64)
    offsets = np.zeros(len(numbers) + 1, np.uint32)
    np.cumsum([size for size, _ in numbers], out=offsets[1:])
    return Sets(offsets, members), np.array([numbers[key] for key in keys], np.int64)


def expand_sets(words: Array, sets: Sets) -> tuple[Array, Array]:
    """Return the distinct members of each symbol's sets, among some words, as keys: symbol << 38 | member.

    The second array has the set of each key; a key occurs once for each set that contains it. Sorted by both.
    """
    chosen = np.unique(words[(words >> np.uint64(TEST_SHIFT) & np.uint64(63)) == np.uint64(Test.IN)])
    numbers = (chosen & np.uint64(0xFFFFFFFF)).astype(np.int64)
    bounds: Array = sets.offsets.astype(np.int64)
    starts, sizes = bounds[numbers], bounds[numbers + 1] - bounds[numbers]
    ends = np.cumsum(sizes)
    at = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
    keys = np.repeat(chosen >> np.uint64(SYMBOL_SHIFT) << np.uint64(SYMBOL_SHIFT), sizes) | sets.members[at]
    owners = np.repeat(numbers, sizes)
    order = np.lexsort((owners, keys))
    return keys[order], owners[order]


def member_index(words: Array, sets: Sets) -> dict[str, Array]:
    """Return the arrays that lead from a symbol and a member to the sets, among some words, that contain it."""
    keys, owners = expand_sets(words, sets)
    firsts = np.flatnonzero(np.diff(keys, prepend=~keys[:1]))
    return {
        "member_keys": keys[firsts],
        "member_offsets": np.append(firsts, len(keys)).astype(np.uint32),
        "member_sets": owners.astype(np.uint32),
    }
