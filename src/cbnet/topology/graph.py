"""Immutable undirected graphs without parallel edges.

Stored in rows, the neighbours of a node side by side:

    offsets    0     2        5   …     int64[n + 1]
    targets    │ 1 2 │ 0 2 3  │ … │     int32[2m], ascending in each row
    weights    │ 7 4 │ 7 1 1  │ … │     int64[2m], of the same edge twice
    relations  │-1 0 │ 1 2 0  │ … │     int8[2m] or None: what the neighbour is to the node (ASes only)

Ids go from 0 to n - 1 in the order of the names: numbers by value, then strings by code point. So where
ties are broken by the smallest id, users see the smallest name. Weights are integers: decimal ones are
multiplied by a power of ten, `scale` (see `edges`); a length in the user's unit is a distance over `scale`.
The sum of all weights is less than 2**53: distances are exact, as ints and as floats.

A graph need not be connected; `topology` requires it of specifications and files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.topology.edges import Edge, EdgeSet, Name, WeightLike, canonical_name, integer_weights

Ids: TypeAlias = NDArray[np.int32]
Lengths: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An undirected graph with named nodes and positive weights."""

    names: Sequence[Name]
    offsets: Lengths
    targets: Ids
    weights: Lengths
    scale: int = 1
    relations: NDArray[np.int8] | None = None
    repeated: int = 0  # duplicate edges, dropped

    def __post_init__(self) -> None:
        for array in (self.offsets, self.targets, self.weights, self.relations):
            if array is not None:
                array.setflags(write=False)

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[tuple[Name, Name] | tuple[Name, Name, WeightLike]],
        *,
        names: Iterable[Name] | None = None,
    ) -> Graph:
        """Return the graph of edges between named nodes; `names` adds nodes, with or without edges."""
        distinct = EdgeSet()
        for name in names or ():
            distinct.node(name)
        for edge in edges:
            distinct.add(*edge)
        return cls.from_edge_set(distinct)

    @classmethod
    def from_edge_set(cls, edge_set: EdgeSet) -> Graph:
        """Return the graph of validated edges; raise their mistakes."""
        edge_set.check()
        if not edge_set.numbers:
            raise InputError("the graph has no nodes", hint="add an edge or a node")
        names = sorted(edge_set.numbers, key=lambda name: (isinstance(name, str), name))
        ids = np.empty(len(names), dtype=np.int32)
        ids[[edge_set.numbers[name] for name in names]] = np.arange(len(names))
        ends = ids[np.array([*edge_set.by_ends], dtype=np.int64).reshape(-1, 2)]
        sources, targets = np.concatenate([ends, ends[:, ::-1]]).T  # every edge, from both ends
        order = np.lexsort((targets, sources))
        edges = [*edge_set.by_ends.values()]
        scale, weights = integer_weights(edges)
        relations = _relations(edges)
        return cls(
            tuple(names),
            _offsets(sources, len(names)),
            targets[order],
            np.tile(np.array(weights, dtype=np.int64), 2)[order],
            scale,
            None if relations is None else relations[order],
            edge_set.repeated,
        )

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Graph of {len(self):,} nodes and {self.edge_count:,} edges>"

    @property
    def edge_count(self) -> int:
        """The number of edges."""
        return len(self.targets) // 2

    @cached_property
    def degrees(self) -> Lengths:
        """The number of neighbours of each node: int64[n]."""
        return np.diff(self.offsets)

    @cached_property
    def is_unit(self) -> bool:
        """Whether every edge has length 1: then distances are hops."""
        return bool((self.weights == 1).all())

    @property
    def rows(self) -> tuple[Lengths, Ids, Lengths]:
        """The arrays for the kernels: offsets, targets, and weights unless all are 1."""
        return self.offsets, self.targets, self.weights[:0] if self.is_unit else self.weights

    def neighbours(self, u: int) -> Ids:
        """Return the neighbours of a node, ascending."""
        return self.targets[self.offsets[u] : self.offsets[u + 1]]

    def weight(self, u: int, v: int) -> int:
        """Return the length of the edge between two neighbours, times `scale`."""
        row = self.neighbours(u)
        index = int(np.searchsorted(row, v))
        if index == len(row) or row[index] != v:
            raise InputError(f"there is no edge between {self.name(u)} and {self.name(v)}")
        return int(self.weights[self.offsets[u] + index])

    def edges(self) -> Iterator[tuple[int, int, int]]:
        """Yield every edge once: its smaller end, its larger end, its weight."""
        sources = np.repeat(np.arange(len(self)), self.degrees)
        once = sources < self.targets
        columns = (sources[once], self.targets[once], self.weights[once])
        yield from zip(*(column.tolist() for column in columns), strict=True)

    def name(self, u: int) -> Name:
        """Return the name of a node."""
        return self.names[u]

    def id(self, name: Name) -> int:
        """Return the id of the node of that name."""
        node = self._ids.get(canonical_name(name))
        if node is None:
            near = get_close_matches(str(name), map(str, self.names), n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else None
            raise InputError(f"the graph has no node {name!r}", hint=hint)
        return node

    @cached_property
    def _ids(self) -> dict[Name, int]:
        return {name: id for id, name in enumerate(self.names)}

    def part(self, nodes: NDArray[np.bool_]) -> Graph:
        """Return the subgraph of the nodes marked in `nodes`, bool[n]."""
        sources = np.repeat(np.arange(len(self)), self.degrees)
        kept = nodes[sources] & nodes[self.targets]
        ids = np.cumsum(nodes, dtype=np.int32) - 1
        return Graph(
            tuple(self.names[u] for u in np.flatnonzero(nodes).tolist()),
            _offsets(ids[sources[kept]], int(nodes.sum())),
            ids[self.targets[kept]],
            self.weights[kept],
            self.scale,
            None if self.relations is None else self.relations[kept],
            self.repeated,
        )


def _offsets(sources: Ids, n: int) -> Lengths:
    """Return the offset of each node's row, and the end of the last."""
    return np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=n))]).astype(np.int64)


def _relations(edges: Sequence[Edge]) -> NDArray[np.int8] | None:
    """Return the relations of all edges from their first ends, then from their second ends."""
    known = [edge.relation for edge in edges if edge.relation is not None]
    if not known or len(known) < len(edges):
        return None
    return np.array([*known, *(relation.mirrored() for relation in known)], dtype=np.int8)
