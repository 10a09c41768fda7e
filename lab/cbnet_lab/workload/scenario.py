"""Scenarios: the common form of the papers' workload parameters.

The parameters of each paper are turned into one scenario. Filters and messages are drawn from the
same names and values, but from separate random streams: changing the number of messages does not
change the filters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from cbnet.language.constraint import Op
from cbnet.language.values import Value
from cbnet_lab.workload.checks import OperatorShares
from cbnet_lab.workload.distributions import Draw, Ranks, Weights, weighted
from cbnet_lab.workload.spread import Spread

Types: TypeAlias = NDArray[np.int32]  # indexes into `Scenario.domains`
_STREAMS = {"filters": 0, "messages": 1}


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
        return np.random.default_rng([self.seed, _STREAMS[of]])

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
