"""Validated edges of a graph, with weights that are scaled to integers.

Node names are integers or strings; a string that is an integer, such as "12", is that integer.
An edge has two ends, a length (its weight) and, between ASes, a relation. The rules:

- an edge from a node to itself is a mistake;
- a weight is a decimal number greater than 0: a float counts as its shortest decimal representation;
- a repeated edge, in either direction, is dropped and counted; with another weight or relation it is a mistake.

The scale of the weights is the smallest power of ten that makes all of them integers, if it is at most 10**15 and their
sum then is less than 2**53, so that distances are exact, as ints and as floats. Computed floats, such as 0.1 + 0.2,
seldom allow it. Then all weights are rounded to the same number of decimal places, as many as those limits permit, and
distances are exact sums of the rounded weights. A weight that would change by more than a millionth of itself is a
mistake.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from numbers import Integral
from typing import NamedTuple, TypeAlias

from cbnet.errors import FileError, InputError

Name: TypeAlias = str | int
Weight: TypeAlias = int | Fraction
WeightLike: TypeAlias = int | float | str | Decimal | Fraction

_MAX_MISTAKES = 20  # reported of one file
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DECIMAL = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?")
_MAX_DIGITS = 15  # decimal places
_MAX_SUM = 2**53
_MAX_CHANGE = Fraction(1, 10**6)  # of a weight


class Relation(IntEnum):
    """The relation of a neighbour to an AS. These codes differ from CAIDA's: there, 1 and 2 are siblings."""

    CUSTOMER = -1
    PEER = 0
    PROVIDER = 1
    SIBLING = 2

    def mirrored(self) -> Relation:
        """Return the relation of the AS to that neighbour."""
        return _MIRRORED.get(self, self)


_MIRRORED = {Relation.CUSTOMER: Relation.PROVIDER, Relation.PROVIDER: Relation.CUSTOMER}


class Edge(NamedTuple):
    """The data of one edge, seen from the end with the smaller number."""

    weight: Weight
    relation: Relation | None
    line: int | None


class EdgeSet:
    """The distinct edges of a graph, and all mistakes in them."""

    def __init__(self, file: str | None = None) -> None:
        self.numbers: dict[Name, int] = {}  # of the nodes, in order of appearance
        self.by_ends: dict[tuple[int, int], Edge] = {}  # smaller number first
        self.repeated = 0
        self._file = file
        self._mistakes: list[InputError] = []

    def add(
        self,
        u: Name,
        v: Name,
        weight: WeightLike = 1,
        *,
        relation: Relation | None = None,
        line: int | None = None,
    ) -> None:
        """Add the edge between u and v, found in that line."""
        try:
            first, second = self.node(u), self.node(v)
            if first == second:
                raise InputError(f"the edge leads from {u} to itself", hint="remove it")
            exact = exact_weight(weight)
            if second < first:
                first, second, relation = second, first, None if relation is None else relation.mirrored()
            self._add(first, second, Edge(exact, relation, line), f"{u} and {v}")
        except InputError as error:
            self.mistake(error, line)

    def node(self, name: Name) -> int:
        """Add a node unless it exists; return its number."""
        return self.numbers.setdefault(canonical_name(name), len(self.numbers))

    def has_node(self, name: Name) -> bool:
        """Return whether there is a node of that name."""
        return canonical_name(name) in self.numbers

    def _add(self, first: int, second: int, edge: Edge, ends: str) -> None:
        earlier = self.by_ends.setdefault((first, second), edge)
        if earlier is edge:
            return
        if earlier[:2] == edge[:2]:
            self.repeated += 1
            return
        attribute = "weight" if earlier.weight != edge.weight else "relation"
        where = f" in line {earlier.line}" if earlier.line else " before"
        raise InputError(f"the edge between {ends} has another {attribute}{where}", hint="keep one of the two")

    def mistake(self, error: InputError, line: int | None = None) -> None:
        """Record a mistake."""
        self._mistakes.append(error.at(file=self._file, line=line))

    def check(self) -> None:
        """Raise the recorded mistakes: those of a file together, up to a limit."""
        if not self._mistakes:
            return
        if self._file is None:
            raise self._mistakes[0]
        mistakes = sorted(self._mistakes, key=lambda mistake: mistake.line or 0)
        more = len(mistakes) - _MAX_MISTAKES
        if more > 0:
            mistakes[_MAX_MISTAKES:] = [
                InputError(f"{more:,} more mistakes", hint="correct these first", file=self._file)
            ]
        raise FileError(self._file, mistakes)


def canonical_name(name: Name) -> Name:
    """Return the canonical form of a node's name: "12" becomes 12."""
    if isinstance(name, Integral) and not isinstance(name, bool):
        return int(name)
    if not isinstance(name, str) or not name:
        raise InputError(f"a node's name must be a string or an integer, not {name!r}")
    return int(name) if _WHOLE.fullmatch(name) else name


def exact_weight(weight: WeightLike) -> Weight:
    """Return the exact value of a weight."""
    if isinstance(weight, Integral) and not isinstance(weight, bool):
        exact: Weight = int(weight)
    elif isinstance(weight, Fraction):
        exact = weight
    elif isinstance(weight, (str, float, Decimal)) and _DECIMAL.fullmatch(str(weight)):
        exact = Fraction(str(weight))
    elif weight == "":
        raise InputError("the weight is empty", hint="write a decimal number, such as 2 or 0.5")
    else:
        raise InputError(f"the weight {weight} is not a number", hint="write a decimal number, such as 2 or 0.5")
    if exact <= 0:
        raise InputError(f"the weight {weight} is not greater than 0", hint="shortest paths need positive weights")
    return exact


def integer_weights(edges: Sequence[Edge]) -> tuple[int, list[int]]:
    """Return the scale, and the weight of each edge times the scale."""
    scale = _exact_scale(edges)
    weights = [] if scale is None else [int(edge.weight * scale) for edge in edges]
    if scale is None or sum(weights) >= _MAX_SUM:
        places = _max_places(edges)
        scale, weights = 10**places, [_rounded(edge, places) for edge in edges]
    return scale, weights


def _exact_scale(edges: Sequence[Edge]) -> int | None:
    """Return the smallest power of ten that makes all weights integers; None if there is none, or it is too large."""
    denominators = {edge.weight.denominator for edge in edges}
    scales = (10**places for places in range(_MAX_DIGITS + 1))
    return next((scale for scale in scales if not any(scale % each for each in denominators)), None)


def _max_places(edges: Sequence[Edge]) -> int:
    """Return the number of decimal places with which all weights have an exact sum."""
    total = sum(edge.weight for edge in edges)
    for places in range(_MAX_DIGITS, -1, -1):
        if total * 10**places + len(edges) < _MAX_SUM:  # each may be rounded up
            return places
    largest = max(edges, key=lambda edge: edge.weight)
    problem = f"the weights are too large for exact distances; the largest is {_decimal(largest.weight)}"
    raise InputError(problem, hint="use another unit", line=largest.line)


def _rounded(edge: Edge, places: int) -> int:
    exact = edge.weight * 10**places
    whole: int = round(exact)
    if abs(whole - exact) > exact * _MAX_CHANGE:
        problem = f"the weight {_decimal(edge.weight)} needs more than the {places} decimal places available"
        raise InputError(problem, hint="use weights of similar size, or another unit", line=edge.line)
    return whole


def _decimal(weight: Weight) -> str:
    return f"{Decimal(weight.numerator) / Decimal(weight.denominator):.17g}"
