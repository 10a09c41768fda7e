"""Computed attributes: what the arrays of a message say, under names that any filter may use.

    tags[1]    orders[0].items[-1].price    an item by its position; from the end if it is negative
    count(items)                            the number of items
    count(items (price > 3))                the number of items that match a predicate
    all items (price > 3)                   whether all of them do

Such a name is an attribute in every other respect: constraints, conditions, indexes and relations need to know nothing
of arrays. Its values lie in the object that holds the array: `count(orders.items)` has one in each element of `orders`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from cbnet.language.values import POSITION

if TYPE_CHECKING:
    from cbnet.language.predicate import Predicate

ITEM_NAME = "@"  # the item itself, in the predicate of a quantifier
_SEGMENT = re.compile(rf"(.+?)((?:{POSITION})+)", re.DOTALL)
TEXT = 16  # characters of a condition that take as long as another constraint
_INDEX = re.compile(r"-?[0-9]+")

Kind: TypeAlias = Literal["item", "count", "all"]


class Segment(NamedTuple):
    """A part of a path between dots: a key, and the positions in its array."""

    key: str
    positions: tuple[int, ...] = ()


class Computed(NamedTuple):
    """The meaning of a computed attribute's name."""

    kind: Kind
    path: tuple[Segment, ...]  # of the value, or of the array
    predicate: Predicate | None = None  # of an item

    @property
    def root(self) -> str:
        """The key at the top of the message that the values depend on."""
        return self.path[0].key

    @property
    def effort(self) -> int:
        """How many values the test of an item examines, by the length of its predicate."""
        return _effort(self.predicate)

    @property
    def used_paths(self) -> frozenset[str]:
        """The paths of the values that it depends on, as keys without positions."""
        keys = [segment.key for segment in self.path]
        arrays = (end for end, segment in enumerate(self.path, 1) if segment.positions or end == len(keys))
        return frozenset([".".join(keys[:end]) for end in arrays]).union(_item_paths(".".join(keys), self.predicate))


@lru_cache(maxsize=65_536)
def _effort(predicate: Predicate | None) -> int:
    filters = () if predicate is None else predicate.filters
    tests = sum(max(1, len(filter.constraints) + len(filter.conditions)) for filter in filters)
    return max(1, tests, sum(len(str(condition)) for filter in filters for condition in filter.conditions) // TEXT)


def _item_paths(array: str, predicate: Predicate | None) -> Iterator[str]:
    for filter in () if predicate is None else predicate.filters:
        for name in filter.used_names:
            for path in plain_paths(name):
                yield f"{array}.{path}"
                if path == ITEM_NAME or path.startswith(f"{ITEM_NAME}."):
                    yield array + path[len(ITEM_NAME) :]


def plain_paths(name: str) -> frozenset[str]:
    """Return the paths of the values that an attribute depends on: its name, or those of a computed one."""
    found = computed(name)
    return frozenset([name]) if found is None else found.used_paths


def computed(name: str) -> Computed | None:
    """Return the meaning of a computed attribute's name; None if the name is that of a plain attribute."""
    return _computed(name) if name.endswith(")") or "[" in name else None


@lru_cache(maxsize=65_536)
def _computed(name: str) -> Computed | None:
    if name.endswith(")"):
        from cbnet.language.syntax.parser import parse_quantifier  # names hold predicates, and predicates names

        quantifier = parse_quantifier(name) if name.startswith(("all ", "count(")) else None
        return quantifier and Computed(quantifier.kind, segments(quantifier.array), quantifier.predicate)
    path = segments(name)
    return Computed("item", path) if any(segment.positions for segment in path) else None


def segments(name: str) -> tuple[Segment, ...]:
    """Return the parts of a path."""
    return tuple(_segment(part) for part in name.split("."))


def _segment(part: str) -> Segment:
    match = _SEGMENT.fullmatch(part) if part.endswith("]") else None
    return Segment(match[1], tuple(map(int, _INDEX.findall(match[2])))) if match else Segment(part)
