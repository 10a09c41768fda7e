"""Policies that choose one of several neighbours for a request. [2014 §3] leaves the choice open.

| policy  | neighbour                                                    |
|---------|--------------------------------------------------------------|
| nearest | toward the nearest holder, which the tables list first       |
| random  | a random one                                                 |
| least   | the one to which this router has sent the fewest requests    |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import ClassVar

from cbnet.errors import InputError


class HolderChoice(ABC):
    """The policy of one router."""

    name: ClassVar[str]

    def __init__(self, u: int, seed: int) -> None:
        self._rng = Random(f"choice {seed} {u}")

    @abstractmethod
    def choose(self, neighbours: Sequence[int]) -> int:
        """Return one of the neighbours, which come nearest first if distances are known, else ascending."""


class NearestHolder(HolderChoice):
    """The neighbour toward the nearest holder."""

    name = "nearest"

    def choose(self, neighbours: Sequence[int]) -> int:
        """Return the first neighbour."""
        return neighbours[0]


class RandomHolder(HolderChoice):
    """A random neighbour."""

    name = "random"

    def choose(self, neighbours: Sequence[int]) -> int:
        """Return a random neighbour."""
        return self._rng.choice(neighbours)


class LeastLoadedHolder(HolderChoice):
    """The neighbour that received the fewest requests."""

    name = "least"

    def __init__(self, u: int, seed: int) -> None:
        super().__init__(u, seed)
        self.sent: Counter[int] = Counter()

    def choose(self, neighbours: Sequence[int]) -> int:
        """Return the neighbour with the fewest requests, the first in case of a tie, and count the request."""
        chosen = min(neighbours, key=self.sent.__getitem__)
        self.sent[chosen] += 1
        return chosen


_HOLDER_CHOICES = {kind.name: kind for kind in (NearestHolder, RandomHolder, LeastLoadedHolder)}
HOLDER_CHOICES = tuple(_HOLDER_CHOICES)


def holder_choice(name: str) -> type[HolderChoice]:
    """Return a policy by name."""
    if name not in _HOLDER_CHOICES:
        raise InputError(f"unknown choice {name!r}", hint="use one of " + ", ".join(HOLDER_CHOICES))
    return _HOLDER_CHOICES[name]
