"""Generators of graphs: rings, grids, trees, random, power-law and AS-like graphs.

    kind:size[,option=number]…      such as  ring:12  grid:4x5  random:200,degree=4  powerlaw:200,m=3,weights=9

Every generated graph is connected; its nodes are 0, 1, 2 … All edges have length 1, or with `weights=W` random
integer lengths from 1 to W. The same text and seed give the same graph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import isqrt, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from cbnet.errors import CbnetError, InputError
from cbnet.topology.edges import EdgeSet, Relation
from cbnet.topology.graph import Graph
from cbnet.topology.traversal import check_seed

Pair: TypeAlias = tuple[int, int] | tuple[int, int, Relation]

_MAX_NODES = 1_000_000
_MAX_EDGES = 5_000_000
_DEFAULT_DEGREE = 4


@dataclass(frozen=True)
class GraphGenerator:
    """A generator, its options and the number of its sizes."""

    make: Callable[..., Sequence[Pair]]
    example: str
    options: tuple[str, ...] = ()
    sizes: int = 1


def generate(text: str, seed: int) -> Graph:
    """Return the graph of a specification such as powerlaw:200."""
    check_seed(seed)
    generator = GENERATORS[text.partition(":")[0]]
    sizes, options = _parse(text, generator)
    weights = options.pop("weights", None)
    pairs = generator.make(np.random.default_rng([seed, 0]), *sizes, **options)
    edges = EdgeSet()
    for node in range(prod(sizes)):
        edges.node(node)
    lengths = [1] * len(pairs)
    if weights is not None:
        lengths = np.random.default_rng([seed, 1]).integers(1, weights, len(pairs), endpoint=True).tolist()
    for (u, v, *relation), length in zip(pairs, lengths, strict=True):
        edges.add(u, v, length, relation=next(iter(relation), None))
    return Graph.from_edge_set(edges)


def _parse(text: str, generator: GraphGenerator) -> tuple[list[int], dict[str, int]]:
    """Return the sizes and options of a specification."""
    size, *rest = text.partition(":")[2].split(",")
    sizes = [_number(text, each, generator) for each in size.split("x")]
    if len(sizes) != generator.sizes:
        raise InputError(f"{text}: {size} is not a valid size for this graph", hint=f"write {generator.example}")
    if prod(sizes) > _MAX_NODES:
        raise InputError(f"{text}: more than {_MAX_NODES:,} nodes", hint="use fewer")
    options: dict[str, int] = {}
    for name, _, value in (option.partition("=") for option in rest):
        known = [option for option in (*generator.options, "weights") if option not in options]
        if name not in known:
            raise InputError(f"{text}: no option {name!r} here", hint=f"use {' or '.join(known) or 'each once'}")
        options[name] = _number(text, value, generator)
    return sizes, options


def _number(text: str, digits: str, generator: GraphGenerator) -> int:
    if re.fullmatch("[1-9][0-9]{9,}", digits):
        raise InputError(f"{text}: {digits} is too large", hint="use less")
    if not re.fullmatch("[1-9][0-9]{0,8}", digits):
        raise InputError(f"{text}: {digits!r} is not an integer greater than 0", hint=f"write {generator.example}")
    return int(digits)


def _check_edges(text: str, count: int) -> None:
    if count > _MAX_EDGES:
        raise InputError(f"{text}: more than {_MAX_EDGES:,} edges", hint="use fewer")


def ring(_rng: Generator, n: int) -> list[Pair]:
    """Return a ring."""
    if n < 3:
        raise InputError(f"ring:{n}: a ring has at least 3 nodes")
    return [(u, (u + 1) % n) for u in range(n)]


def grid(_rng: Generator, rows: int, columns: int) -> list[Pair]:
    """Return a grid; its nodes are numbered row by row."""
    nodes = range(rows * columns)
    across: list[Pair] = [(u, u + 1) for u in nodes if (u + 1) % columns]
    return across + [(u, u + columns) for u in nodes[:-columns]]


def tree(_rng: Generator, n: int, arity: int = 2) -> list[Pair]:
    """Return a tree with `arity` children per node, filled level by level: 1 makes a line, n - 1 a star."""
    return [((u - 1) // arity, u) for u in range(1, n)]


def random(rng: Generator, n: int, degree: int | None = None) -> list[Pair]:
    """Return a random tree with further random edges up to the average degree."""
    degree = min(_DEFAULT_DEGREE, n - 1) if degree is None else degree
    count, possible = n * degree // 2, n * (n - 1) // 2
    _check_edges(f"random:{n},degree={degree}", count)
    if not n - 1 <= count <= possible:
        raise InputError(
            f"random:{n}: no connected graph has degree {degree}", hint=f"use a degree from {min(2, n - 1)} to {n - 1}"
        )
    # in random order, every node joins an earlier one: the graph is connected
    order = rng.permutation(n)
    joined = [(int(u), int(order[rng.integers(index)])) for index, u in enumerate(order[1:], 1)]
    taken = {_code(u, v) for u, v in joined}
    drawn = rng.choice(possible, count, replace=False).tolist()
    further = [code for code in drawn if code not in taken][: count - len(joined)]
    return [*joined, *map(_pair, further)]


def _code(u: int, v: int) -> int:
    """Return the number of a pair of nodes: 0 for (1, 0), then (2, 0), (2, 1), (3, 0) …"""
    return max(u, v) * (max(u, v) - 1) // 2 + min(u, v)


def _pair(code: int) -> tuple[int, int]:
    larger = (1 + isqrt(1 + 8 * code)) // 2
    return larger, code - larger * (larger - 1) // 2


def powerlaw(rng: Generator, n: int, m: int = 2) -> list[Pair]:
    """Return a graph grown by preferential attachment (Barabási, Albert): every new node joins m others.

    A node is drawn with a chance proportional to its degree. The first m + 1 nodes form a star.
    """
    if n < 2:
        raise InputError(f"powerlaw:{n}: needs at least 2 nodes")
    if m >= n:
        raise InputError(f"powerlaw:{n}: a node cannot join {m} others", hint=f"use an m from 1 to {n - 1}")
    _check_edges(f"powerlaw:{n},m={m}", n * m)
    pairs: list[tuple[int, int]] = [(0, u) for u in range(1, m + 1)]
    ends = [end for pair in pairs for end in pair]
    for new in range(m + 1, n):
        joined: dict[int, None] = {}
        while len(joined) < m:
            joined[ends[int(rng.random() * len(ends))]] = None
        for old in joined:
            pairs.append((old, new))
            ends += (old, new)
    return [*pairs]


def aslike(rng: Generator, n: int) -> list[Pair]:
    """Return a graph like that of the Internet's ASes, with their relations (Elmokashfi, by networkx)."""
    if n < 10:
        raise InputError(f"aslike:{n}: needs at least 10 nodes")
    try:
        networkx: Any = import_module("networkx")
    except ImportError:
        raise CbnetError("aslike needs networkx: pip install networkx") from None
    internet = networkx.random_internet_as_graph(n, seed=int(rng.integers(2**32)))
    return [(u, v, _relation(v, link)) for u, v, link in internet.edges(data=True)]


def _relation(v: int, link: dict[str, str]) -> Relation:
    if link["type"] == "peer":
        return Relation.PEER
    return Relation.CUSTOMER if link["customer"] == str(v) else Relation.PROVIDER


GENERATORS = {
    "ring": GraphGenerator(ring, "ring:12"),
    "grid": GraphGenerator(grid, "grid:4x5", sizes=2),
    "tree": GraphGenerator(tree, "tree:50,arity=3", ("arity",)),
    "random": GraphGenerator(random, "random:200,degree=4", ("degree",)),
    "powerlaw": GraphGenerator(powerlaw, "powerlaw:200,m=2", ("m",)),
    "aslike": GraphGenerator(aslike, "aslike:1000"),
}
