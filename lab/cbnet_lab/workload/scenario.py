"""Scenarios: the common form of the papers' workload parameters.

The parameters of each paper are turned into one scenario. Filters and messages are drawn from the
same names and values, but from separate random streams: changing the number of messages does not
change the filters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.language.constraint import Op
from cbnet.language.values import Value
from cbnet_lab.workload.checks import OperatorShares, check_at_least, check_sizes
from cbnet_lab.workload.distributions import Draw, Ranks, Weights, weighted

Types: TypeAlias = NDArray[np.int32]  # indexes into `Scenario.domains`
Spread: TypeAlias = Callable[[Generator], NDArray[np.int64]]  # filters of each interface: int64[I]
STREAMS = {"filters": 0, "messages": 1}


@dataclass(frozen=True)
class ValueDomain:
    """The values of one type, and the constraints on them."""

    type: Literal["string", "int", "bool"]
    share: float  # of all attributes and constraints, in per cent
    values: Sequence[Value]
    draw: Draw  # of indexes into `values`
    operators: OperatorShares

    @property
    def draw_operator(self) -> Draw:
        """Return a draw of operators, as ranks."""
        weights = np.zeros(len(Op))
        for op, share in self.operators:
            weights[op.rank] += share
        return weighted(weights)


@dataclass(frozen=True)
class Scenario:
    """The items to draw, their numbers and their distributions."""

    seed: int
    names: Sequence[str]
    name_weights: Weights  # float64[names]
    domains: tuple[ValueDomain, ...]
    spread: Spread
    constraints: range  # numbers of constraints of a filter, equally likely
    messages: int
    attributes: range  # numbers of attributes of a message, equally likely

    def stream(self, of: Literal["filters", "messages"]) -> Generator:
        """Return the random generator of the filters, or that of the messages."""
        return np.random.default_rng([self.seed, STREAMS[of]])

    def draw_types(self, rng: Generator, count: int) -> Types:
        """Return a type for each of `count` attributes or constraints."""
        return weighted(np.array([domain.share for domain in self.domains]))(rng, count)


class WorkloadParameters(Protocol):
    """The parameters of a mix, under the names of its paper."""

    def scenario(self) -> Scenario:
        """Return the scenario of these parameters."""
        ...


def draw_by_type(rng: Generator, types: Types, draws: Sequence[Draw]) -> Ranks:
    """Return a rank for each entry of `types`, drawn by draws[type]; 0 for an unknown type."""
    ranks = np.zeros(len(types), dtype=np.int32)
    for type, draw in enumerate(draws):
        rows = np.flatnonzero(types == type)
        ranks[rows] = draw(rng, len(rows))
    return ranks


def random_spread(interfaces: int | None, low: int, high: int) -> Spread:
    """Return the spread that draws the filters of each interface from [low, high) [2002 §5.1]."""
    if interfaces is None:
        raise InputError("both I and F are missing", hint="set one of them, or both")
    check_at_least(1, I=interfaces)
    check_sizes(f"[f_l, f_h) = [{low}, {high})", range(low, high))
    return lambda rng: rng.integers(low, high, size=interfaces)


def fixed_spread(filters: int, interfaces: int | None) -> Spread:
    """Return a spread of exactly `filters`: one for every interface, the rest dealt at random [2001 §4.1].

    If `interfaces` is None there are as many interfaces as filters.
    """
    count = filters if interfaces is None else interfaces
    check_at_least(1, F=filters, I=count)
    if count > filters:
        raise InputError(
            f"I = {count:,} interfaces cannot share F = {filters:,} filters",
            hint="every interface needs a filter: I must be at most F",
        )
    return lambda rng: 1 + np.bincount(rng.integers(count, size=filters - count), minlength=count)
