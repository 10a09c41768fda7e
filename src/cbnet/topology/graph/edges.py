"""EdgeSet: what is said about the edges of a graph, and which of it is a mistake?

Nodes have names: numbers or texts; a text that is a whole number, such as "12", is that number.
An edge has two ends, a length (its weight) and, between ASes, a relation. The rules:

- an edge from a node to itself is a mistake;
- a weight is a decimal number greater than 0: a float counts as the number that it is printed as;
- an edge that is said again, in either direction, is dropped and counted; with another weight or relation it is
  a mistake.
"""

from __future__ import annotations

import re
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from numbers import Integral
from typing import NamedTuple, TypeAlias

from cbnet.errors import FileError, InputError

Name: TypeAlias = str | int
Weight: TypeAlias = int | Fraction
WeightLike: TypeAlias = int | float | str | Decimal | Fraction

_SHOWN = 20  # mistakes of one file
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DECIMAL = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?")


class Relation(IntEnum):
    """What an AS's neighbour is to it. The codes are ours: CAIDA's files say siblings by 1 or 2, and no provider."""

    CUSTOMER = -1
    PEER = 0
    PROVIDER = 1
    SIBLING = 2

    def mirrored(self) -> Relation:
        """Return what the AS is to that neighbour."""
        return _MIRRORED.get(self, self)


_MIRRORED = {Relation.CUSTOMER: Relation.PROVIDER, Relation.PROVIDER: Relation.CUSTOMER}


class Edge(NamedTuple):
    """What is said about one edge, seen from the end that was first met."""

    weight: Weight
    relation: Relation | None
    line: int | None


class EdgeSet:
    """The edges of a graph as they are said, one after the other, and all the mistakes in them."""

    def __init__(self, file: str | None = None) -> None:
        self.numbers: dict[Name, int] = {}  # of the nodes, as they are met
        self.by_ends: dict[tuple[int, int], Edge] = {}  # by the smaller number, then the larger
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
        """Add the edge between u and v, which stands in that line."""
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
        """Add a node, if there is none of that name; return its number."""
        return self.numbers.setdefault(canonical_name(name), len(self.numbers))

    def has_node(self, name: Name) -> bool:
        """Return whether there is a node of that name."""
        return canonical_name(name) in self.numbers

    def _add(self, first: int, second: int, edge: Edge, ends: str) -> None:
        before = self.by_ends.setdefault((first, second), edge)
        if before is edge:
            return
        if before[:2] == edge[:2]:
            self.repeated += 1
            return
        what = "weight" if before.weight != edge.weight else "relation"
        where = f" in line {before.line}" if before.line else " before"
        raise InputError(f"the edge between {ends} has another {what}{where}", hint="keep one of the two")

    def mistake(self, error: InputError, line: int | None = None) -> None:
        """Note a mistake."""
        self._mistakes.append(error.at(file=self._file, line=line))

    def check(self) -> None:
        """Raise the mistakes that were noted: the first ones of a file together."""
        if not self._mistakes:
            return
        if self._file is None:
            raise self._mistakes[0]
        mistakes = sorted(self._mistakes, key=lambda mistake: mistake.line or 0)
        more = len(mistakes) - _SHOWN
        if more > 0:
            mistakes[_SHOWN:] = [InputError(f"{more:,} more mistakes", hint="correct these first", file=self._file)]
        raise FileError(self._file, mistakes)


def canonical_name(name: Name) -> Name:
    """Return a node's name in its one form: "12" is 12."""
    if isinstance(name, Integral) and not isinstance(name, bool):
        return int(name)
    if not isinstance(name, str) or not name:
        raise InputError(f"a node's name is a text or a whole number, not {name!r}")
    return int(name) if _WHOLE.fullmatch(name) else name


def exact_weight(weight: WeightLike) -> Weight:
    """Return a weight as the exact number that it is."""
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
