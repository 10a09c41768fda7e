"""HolderChoice: which one of several neighbours does a request go to? [2014 §3] says "one", and not which.

| policy  | to the neighbour                                                          |
|---------|---------------------------------------------------------------------------|
| nearest | of the nearest holder: the tables of this policy name it first            |
| random  | any                                                                       |
| least   | to which this router has sent the fewest requests                         |
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
        """Return one of some neighbours, nearest first if distances are known, else ascending."""


class NearestHolder(HolderChoice):
    """The neighbour of the nearest holder."""

    name = "nearest"

    def choose(self, neighbours: Sequence[int]) -> int:
        """Return the first."""
        return neighbours[0]


class RandomHolder(HolderChoice):
    """Any neighbour."""

    name = "random"

    def choose(self, neighbours: Sequence[int]) -> int:
        """Return a random one."""
        return self._rng.choice(neighbours)


class LeastLoadedHolder(HolderChoice):
    """The neighbour that got the fewest requests."""

    name = "least"

    def __init__(self, u: int, seed: int) -> None:
        super().__init__(u, seed)
        self.sent: Counter[int] = Counter()

    def choose(self, neighbours: Sequence[int]) -> int:
        """Return the one with the least load, of several the first, and count it."""
        chosen = min(neighbours, key=self.sent.__getitem__)
        self.sent[chosen] += 1
        return chosen


_HOLDER_CHOICES = {kind.name: kind for kind in (NearestHolder, RandomHolder, LeastLoadedHolder)}
HOLDER_CHOICES = tuple(_HOLDER_CHOICES)


def holder_choice(name: str) -> type[HolderChoice]:
    """Return a policy by its name."""
    if name not in _HOLDER_CHOICES:
        raise InputError(f"unknown choice {name!r}", hint="use one of " + ", ".join(HOLDER_CHOICES))
    return _HOLDER_CHOICES[name]
