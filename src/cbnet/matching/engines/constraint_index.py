"""The constraint index: from a value to the constraints that it satisfies [2002 §4.1].

All distinct constraints are numbered in the order of their keys:

    63      59 58          33 32                 2 1    0
    ┌─────────┬──────────────┬────────────────────┬──────┐
    │ region  │ symbol       │ operand            │ turn │
    └─────────┴──────────────┴────────────────────┴──────┘

region: constraints that are searched together. The constraints of one name and region are adjacent,
sorted by constant, and those that `<` or `>` selects are a range, with one range of postings.
turn: the order of operators of one region with the same constant.

A name has *branches*, one per type and operator: each refers to such a range, or to a trie of strings,
which the chains of its `<` and `>` follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from cbnet.matching.storage.codes import SYMBOL_SHIFT, TEST_SHIFT, Test

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array

REGION_SHIFT, NAME_SHIFT, OPERAND_SHIFT = 59, 33, 2
BRANCH = np.dtype([("kind", "<u2"), ("tests", "<u2"), ("first", "<u4"), ("end", "<u4"), ("root", "<u4")])


class BranchKind(IntEnum):
    """Search method of a branch. The numbers are part of the table file and of the kernel."""

    BOOL_EQ = 0
    NUMBER_EQ = 1
    NUMBER_NE = 2
    NUMBER_LT = 3
    NUMBER_LE = 4
    NUMBER_GT = 5
    NUMBER_GE = 6
    EXISTS = 7
    TAG = 8
    TRIE = 9  # string constraints =, prefix, suffix and substring
    UP = 10  # the chain of < and <=
    DOWN = 11  # the chain of > and >=
    UNEQUAL = 12


# test -> the kind of its branch, and its turn there. In a chain the value "c" is looked up between the two
# constraints of the constant "c", and a value between two constants is looked up between these.
_KINDS = {
    Test.EXISTS: (BranchKind.EXISTS, 0), Test.TAG: (BranchKind.TAG, 0), Test.BOOL_EQ: (BranchKind.BOOL_EQ, 0),
    Test.NUMBER_EQ: (BranchKind.NUMBER_EQ, 0), Test.NUMBER_NE: (BranchKind.NUMBER_NE, 0),
    Test.NUMBER_LT: (BranchKind.NUMBER_LT, 0), Test.NUMBER_LE: (BranchKind.NUMBER_LE, 0),
    Test.NUMBER_GT: (BranchKind.NUMBER_GT, 0), Test.NUMBER_GE: (BranchKind.NUMBER_GE, 0),
    Test.STRING_EQ: (BranchKind.TRIE, 0), Test.STRING_NE: (BranchKind.UNEQUAL, 0),
    Test.STRING_LT: (BranchKind.UP, 0), Test.STRING_LE: (BranchKind.UP, 1),
    Test.STRING_GT: (BranchKind.DOWN, 1), Test.STRING_GE: (BranchKind.DOWN, 0),
    Test.PREFIX: (BranchKind.TRIE, 1), Test.SUFFIX: (BranchKind.TRIE, 2), Test.SUBSTRING: (BranchKind.TRIE, 3),
}  # fmt: skip
INDEXED = len(_KINDS)  # the tests below this one
KIND = np.array([_KINDS[test][0] for test in sorted(_KINDS)], np.uint64)
_TURN = np.array([_KINDS[test][1] for test in sorted(_KINDS)], np.uint64)


@dataclass(frozen=True)
class Constraints:
    """The distinct constraints of a table, in the order of their keys."""

    keys: Array  # uint64[n]
    tests: Array  # uint8[n]
    is_united: bool  # one trie per name; else one per name and operator

    @property
    def symbols(self) -> Array:
        """The name or tag of each: int64[n]."""
        return _bits(self.keys, NAME_SHIFT, REGION_SHIFT).astype(np.int64)

    @property
    def operands(self) -> Array:
        """The rank of the constant of each: uint32[n]."""
        return _bits(self.keys, OPERAND_SHIFT, NAME_SHIFT).astype(np.uint32)

    @property
    def tries(self) -> Array:
        """The trie of its name that each belongs to, for strings: int64[n]."""
        apart = np.where(self.tests >= Test.STRING_EQ, self.tests, 0)
        return np.zeros_like(apart, np.int64) if self.is_united else apart.astype(np.int64)

    def find(self, regions: Array, symbols: Array, operands: Array) -> Array:
        """Return the first constraint not before each of some keys: uint32."""
        keys = regions.astype(np.uint64) << np.uint64(REGION_SHIFT)
        keys |= symbols.astype(np.uint64) << np.uint64(NAME_SHIFT)
        keys |= operands.astype(np.uint64) << np.uint64(OPERAND_SHIFT)
        return np.searchsorted(self.keys, keys).astype(np.uint32)


@dataclass(frozen=True)
class ConstraintBranches:
    """Branches, with the name of each and, for strings, its trie."""

    symbols: Array  # int64[n]
    tries: Array  # int64[n]
    rows: Array  # BRANCH[n]


def _bits(keys: Array, first: int, end: int) -> Array:
    return keys >> np.uint64(first) & np.uint64((1 << end - first) - 1)


def regions(is_united: bool) -> Array:
    """Return the region of each test; with a trie per operator, each string operator has its own."""
    tests = np.arange(INDEXED, dtype=np.uint64)
    return KIND if is_united else np.where(tests >= Test.STRING_EQ, tests, KIND)


def keys_of(words: Array, is_united: bool) -> Array:
    """Return the key of every word: uint64[n]."""
    tests = tests_of(words)
    keys = regions(is_united)[tests] << np.uint64(REGION_SHIFT)
    keys |= words >> np.uint64(SYMBOL_SHIFT) << np.uint64(NAME_SHIFT)
    keys |= (words & np.uint64(0xFFFFFFFF)) << np.uint64(OPERAND_SHIFT)
    keys |= _TURN[tests]
    return keys


def tests_of(words: Array) -> Array:
    """Return the test of every word: uint8[n]."""
    return (words >> np.uint64(TEST_SHIFT)).astype(np.uint8) & np.uint8(63)


def ranges(constraints: Constraints) -> ConstraintBranches:
    """Return a branch for every name and region, except those reached by a trie."""
    names = constraints.keys >> np.uint64(NAME_SHIFT)
    firsts = np.flatnonzero(np.diff(names, prepend=~names[:1]))
    rows = np.zeros(len(firsts), BRANCH)
    rows["kind"] = KIND[constraints.tests[firsts]]
    rows["first"] = firsts
    rows["end"] = np.append(firsts, len(names))[1:]
    kept = rows["kind"] != BranchKind.TRIE
    firsts = firsts[kept]
    return ConstraintBranches(constraints.symbols[firsts], constraints.tries[firsts], rows[kept])


def index_arrays(constraints: Constraints, symbols: int, *parts: ConstraintBranches) -> dict[str, Array]:
    """Return the branches of each symbol, and the constants searched by the first kinds of branches."""
    names = np.concatenate([branches.symbols for branches in parts])
    tries = np.concatenate([branches.tries for branches in parts])
    rows = np.concatenate([branches.rows for branches in parts])
    order = np.lexsort((rows["kind"], tries, names))  # a trie precedes the chains that it refers to
    searched = np.searchsorted(constraints.keys, np.uint64(BranchKind.EXISTS << REGION_SHIFT))
    return {
        "symbol_branches": np.searchsorted(names[order], np.arange(symbols + 1)).astype(np.uint32),
        "branches": rows[order],
        "operands": constraints.operands[:searched],
    }
