"""Sizes of forwarding tables: the rows of [2014 Table 1], and the savings of aggregation.

| entries            | of                                                                                    |
|--------------------|---------------------------------------------------------------------------------------|
| per tree           | a table for each tree, with minimal descriptors only: destination grouping [§3.2.1]    |
| grouped            | one table for trees that are indistinguishable at the router: tree grouping [§3.2.2]   |
| folded             | one table for all trees, with tree tags [§3.2.3]                                       |
| grouped and folded | one table, with a tag for each class of trees                                          |

An entry is a filter or descriptor at an interface: a term of the paper's Figure 3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields

from cbnet.matching import Table
from cbnet.topology import Tree

PAPER_BYTES = 50  # of a descriptor in Table 1: a Bloom filter of 400 bits


@dataclass(frozen=True)
class FibSize:
    """A row of Table 1: one or more interfaces of a router on one tree."""

    interfaces: int = 0
    destinations: int = 0  # nodes behind them, with or without descriptors
    tags: int = 0  # of all descriptors registered there; a constraint counts as one
    descriptors: int = 0
    kept: int = 0  # minimal descriptors

    def __add__(self, other: FibSize) -> FibSize:
        return FibSize(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(FibSize)))


@dataclass(frozen=True)
class Entries:
    """The entries for all trees, of one router or of several."""

    per_tree: int = 0
    grouped: int = 0
    folded: int = 0
    grouped_and_folded: int = 0

    def __add__(self, other: Entries) -> Entries:
        return Entries(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Entries)))


class Fibs(ABC):
    """The forwarding tables of all routers of a network, computed lazily."""

    trees: Sequence[Tree]

    @abstractmethod
    def sizes(self, u: int, tree: int) -> dict[int, FibSize]:
        """Return the size of each interface of a router on a tree."""

    @abstractmethod
    def table(self, u: int, tree: int, neighbours: Collection[int]) -> Table[int]:
        """Return the compiled table of a router's interfaces to these neighbours, on a tree."""

    @abstractmethod
    def entries(self, u: int) -> Entries:
        """Return the entries of a router."""

    @abstractmethod
    def total(self) -> Entries:
        """Return the entries of all routers together."""


def largest(sizes: dict[int, FibSize]) -> int:
    """Return the interface with the most destinations; the smallest in case of a tie."""
    return min(sizes, key=lambda w: (-sizes[w].destinations, w))


def destinations(tree: Tree, u: int, w: int) -> int:
    """Return the number of nodes behind a neighbour on a tree."""
    return int(tree.sizes[w] if tree.parents[w] == u else len(tree.preorder) - tree.sizes[u])
