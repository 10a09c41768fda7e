"""The constraint index: from a value to the constraints that it satisfies [2002 §4.1, §4.2].

All distinct constraints are numbered in the order of their keys:

    63      59 58          33 32                 2 1    0
    ┌─────────┬──────────────┬────────────────────┬──────┐
    │ region  │ symbol       │ operand            │ turn │
    └─────────┴──────────────┴────────────────────┴──────┘

region: constraints that are searched together. The constraints of one name and region are adjacent,
sorted by constant, and those that `<` or `>` selects are a range, with one range of postings.
turn: the order of operators of one region with the same constant.

A name has *branches*, one per type and operator: each refers to such a range, or to a ternary search trie for all
operators on the strings of the name, which the chains of its `<` and `>` follow.

The trie of the constants "an", "to", "ton" and "tonight"; ┆ leads to the continuation of a node, ─ to its
siblings: `low` to smaller and `high` to larger bytes. • has an entry, because a constant ends there.

        root
         ┆
         t ─low─ a             nodes    │ root │ t │ o• │ n• │ i• │ a• │
         ┆       ┆             entries  │ an │ to │ ton │ tonight │
         o•      (n)
         ┆                     Nodes are in preorder: the continuation of a node is the next one. Entries
         n•                    are numbered in the order of the strings. The root has no byte;
         ┆                     its entry is that of the empty string.
         i•
         (ght)                 Where only one string is left, its tail (in brackets) has no nodes: the
                               text of its entry is compared instead.

An entry has the constraints of its constant. Those met during the descent (prefix, substring) or where
the value ends (=, suffix) are its points, from `points` on; `up`, `down` and `unequal` link it to the
chains of `<` and `<=`, of `>` and `>=`, and of `!=`: to the first constraint there whose constant is
not before its own. A value that is not among the constants enters the chains at the nearest constant
above it, found by going back to the last larger byte passed; the nearest below is the entry before that.

Invariant: `low`, `high` and the next node follow the node, so every walk ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from cbnet._kernels import counting_strings
from cbnet.errors import LimitError
from cbnet.matching.storage.codes import SYMBOL_SHIFT, Test, tests_of
from cbnet.matching.storage.columns import Array, Texts

REGION_SHIFT, NAME_SHIFT, OPERAND_SHIFT = 59, 33, 2
BRANCH = np.dtype([("kind", "<u2"), ("tests", "<u2"), ("first", "<u4"), ("end", "<u4"), ("root", "<u4")])
NODE = np.dtype(
    [("low", "<u4"), ("high", "<u4"), ("entry", "<u4"), ("byte", "u1"), ("behind", "u1"), ("unused", "<u2")]
)
ENTRY = np.dtype(
    [("points", "<u4"), ("up", "<u4"), ("down", "<u4"), ("unequal", "<u4"), ("string", "<u4"), ("tests", "<u4")]
)
# The bits of tests in ENTRY.tests and BRANCH.tests; tests of one link are in the order of their turns.
_BITS = (
    Test.STRING_EQ, Test.PREFIX, Test.SUFFIX, Test.SUBSTRING,
    Test.STRING_LT, Test.STRING_LE, Test.STRING_GE, Test.STRING_GT, Test.STRING_NE,
)  # fmt: skip
_BIT = np.array([1 << _BITS.index(test) if test in _BITS else 0 for test in Test])
_MAX_NODES = 2**32 - 1


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
    tests: Array  # int64[n]
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
    keys |= words >> SYMBOL_SHIFT << NAME_SHIFT
    keys |= (words & 0xFFFFFFFF) << OPERAND_SHIFT
    keys |= _TURN[tests]
    return keys


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


_LINKS = {"points": BranchKind.TRIE, "up": BranchKind.UP, "down": BranchKind.DOWN, "unequal": BranchKind.UNEQUAL}


def string_tries(constraints: Constraints, strings: Texts) -> tuple[ConstraintBranches, dict[str, Array]]:
    """Return the branches that refer to tries, and the arrays of the tries."""
    chosen = np.flatnonzero(constraints.tests >= Test.STRING_EQ)
    keys = constraints.symbols[chosen] << 5 | constraints.tries[chosen]
    keys = keys << 32 | constraints.operands[chosen]
    keys, entry_of = np.unique(keys, return_inverse=True)
    operands = (keys & 0xFFFFFFFF).astype(np.uint32)
    tests = np.bincount(entry_of, _BIT[constraints.tests[chosen]], len(keys)).astype(np.int64)
    firsts = np.flatnonzero(np.diff(keys >> 32, prepend=-1))
    symbols, tries = keys >> 37, keys >> 32 & 31
    rows = np.zeros(len(firsts), BRANCH)
    rows["kind"] = BranchKind.TRIE
    rows["tests"] = np.bitwise_or.reduceat(tests, firsts) if len(firsts) else 0
    rows["first"], rows["end"] = firsts, np.append(firsts, len(keys))[1:]
    nodes, rows["root"] = _nodes(strings, operands, np.append(firsts, len(keys)).astype(np.uint32))
    branches = ConstraintBranches(symbols[firsts], tries[firsts], rows)
    entries = _entries(constraints, symbols, tries, operands, tests)
    return branches, {"entries": entries, "nodes": nodes}


def _nodes(strings: Texts, operands: Array, firsts: Array) -> tuple[Array, Array]:
    """Return the nodes of all tries, and their roots."""
    texts = (strings.data, strings.offsets, operands, firsts)
    count = counting_strings.count_nodes(*texts)
    if count > _MAX_NODES:
        raise LimitError("nodes in the tries of one table", count, _MAX_NODES, hint="split the table")
    nodes, roots = np.empty(count, NODE), np.empty(len(firsts) - 1, np.uint32)
    counting_strings.fill_nodes(*texts, nodes, roots)
    return nodes, roots


def _entries(constraints: Constraints, symbols: Array, tries: Array, operands: Array, tests: Array) -> Array:
    """Return the entries with their links."""
    entries = np.zeros(len(operands), ENTRY)
    entries["string"], entries["tests"] = operands, tests
    for link, kind in _LINKS.items():
        if constraints.is_united:
            region, linked = np.full(len(operands), kind), np.ones(len(operands), bool)
        else:
            region = regions(is_united=False)[tries]
            linked = KIND[tries] == kind
        entries[link][linked] = constraints.find(region[linked], symbols[linked], operands[linked])
    return entries
