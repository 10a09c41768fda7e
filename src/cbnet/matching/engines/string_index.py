"""The string index: one ternary search trie for all operators on the strings of a name [2002 §4.2].

The constants "an", "to", "ton" and "tonight"; ┆ leads to the continuation of a node, ─ to its
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

from typing import TYPE_CHECKING

import numpy as np

from cbnet._kernels import counting_strings
from cbnet.errors import LimitError
from cbnet.matching.engines.constraint_index import (
    BRANCH,
    KIND,
    BranchKind,
    ConstraintBranches,
    Constraints,
    regions,
)
from cbnet.matching.storage.codes import Test

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array, Texts

NODE = np.dtype(
    [("low", "<u4"), ("high", "<u4"), ("entry", "<u4"), ("byte", "u1"), ("behind", "u1"), ("unused", "<u2")]
)
ENTRY = np.dtype(
    [("points", "<u4"), ("up", "<u4"), ("down", "<u4"), ("unequal", "<u4"), ("string", "<u4"), ("tests", "<u4")]
)
_LINKS = {"points": BranchKind.TRIE, "up": BranchKind.UP, "down": BranchKind.DOWN, "unequal": BranchKind.UNEQUAL}

# The bits of tests in ENTRY.tests and BRANCH.tests; tests of one link are in the order of their turns.
_BITS = (
    Test.STRING_EQ, Test.PREFIX, Test.SUFFIX, Test.SUBSTRING,
    Test.STRING_LT, Test.STRING_LE, Test.STRING_GE, Test.STRING_GT, Test.STRING_NE,
)  # fmt: skip
_BIT = np.array([1 << _BITS.index(test) if test in _BITS else 0 for test in Test])
_MAX_NODES = 2**32 - 1


def build(constraints: Constraints, strings: Texts) -> tuple[ConstraintBranches, dict[str, Array]]:
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
