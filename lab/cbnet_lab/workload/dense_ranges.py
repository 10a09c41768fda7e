"""Workloads of dense ranges, w1 to w5: filters of closed ranges over integers, as sensors, markets and geofences have.

In the papers' workloads names and values select: few messages have the attribute of a filter. Here many or all messages
do, and a range holds for a good part of the values. These are the shapes on which published engines for ranges are
measured; the five differ in what selects:

    w1  5 of 20 attributes, all of which every message has; ranges of 10 to 30 % of the domain
    w2  5 to 10 of 1,000 names that follow Zipf's law, 20 of them in a message: next to nothing matches
    w3  as w1, but 80 % of the constraints ask for one of 100 values that follow Zipf's law, as do those of messages
    w4  as w1, with ranges of 50 to 70 %: much matches
    w5  as w2, with Zipf's exponent 2 and ranges of 50 to 70 %
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from cbnet_lab.workload import checks
from cbnet_lab.workload.distributions import Ranks, distinct, weighted, zipf_weights
from cbnet_lab.workload.scenario import STREAMS, Spread, fixed_spread

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class RangeRows:
    """Filters as rows, one for each range: low <= name <= high."""

    rules: Integers  # of each filter
    filters: Integers  # of each row
    names: Ranks
    lows: Integers
    highs: Integers


@dataclass(frozen=True)
class DenseRanges:
    """The parameters of a workload of ranges; those of w1 are the defaults."""

    M: int = 100  # messages
    F: int = 10_000  # filters
    I: int | None = None  # noqa: E741  # interfaces; None: I = F
    names: int = 20
    attributes: int = 20  # of a message
    constraints: tuple[int, int] = (5, 5)  # ranges of a filter, on distinct names; both ends included
    zipf: float = 0.0  # the exponent of the names of messages and filters; 0: all are as likely
    width: tuple[float, float] = (0.1, 0.3)  # of a range, as a part of the domain
    equal: float = 0.0  # share of constraints that ask for one of `values` values
    values: int = 100
    domain: int = 1_000_000
    seed: int = 0

    def __post_init__(self) -> None:
        least, most = self.constraints
        checks.check_at_least(0, seed=self.seed)
        checks.check_at_least(1, M=self.M, names=self.names, attributes=self.attributes, values=self.values)
        checks.check_at_least(self.values, domain=self.domain)
        checks.check_sizes(f"constraints = {self.constraints}", range(least, most + 1))
        checks.check_names(f"attributes = {self.attributes}", range(self.attributes, self.attributes + 1), self.names)
        checks.check_names(f"constraints = {self.constraints}", range(most, most + 1), self.names)
        checks.check_zipf(self.zipf)
        self._spread()

    def rows(self) -> RangeRows:
        """Return the filters."""
        rng = self._stream("filters")
        per_rule = self._spread()(rng)
        rules = np.repeat(np.arange(len(per_rule)), per_rule)
        sizes = rng.integers(self.constraints[0], self.constraints[1] + 1, size=len(rules))
        names = distinct(rng, zipf_weights(self.names, self.zipf), sizes)
        width = (rng.uniform(*self.width, size=len(names)) * self.domain).astype(np.int64)
        lows = (rng.random(len(names)) * (self.domain - width)).astype(np.int64)
        highs = lows + np.maximum(width, 1) - 1
        is_equal = rng.random(len(names)) < self.equal
        lows[is_equal] = highs[is_equal] = self._popular(rng, int(np.count_nonzero(is_equal)))
        return RangeRows(rules, np.repeat(np.arange(len(rules)), sizes), names, lows, highs)

    def values_of_messages(self) -> tuple[Integers, Integers]:
        """Return the names of each message, and their values: int64[messages, attributes]."""
        rng = self._stream("messages")
        shape = self.M, self.attributes
        names = distinct(rng, zipf_weights(self.names, self.zipf), np.full(self.M, self.attributes)).reshape(shape)
        if self.equal:
            return names.astype(np.int64), self._popular(rng, names.size).reshape(shape)
        return names.astype(np.int64), rng.integers(self.domain, size=shape)

    def name(self, rank: int) -> str:
        """Return the name of an attribute."""
        return f"n{rank}"

    def _popular(self, rng: Generator, count: int) -> Integers:
        """Draw values that are compared with `=`: spread over the domain, the lowest is the commonest."""
        ranks = weighted(zipf_weights(self.values, 1.0))(rng, count)
        return ranks.astype(np.int64) * (self.domain // self.values)

    def _stream(self, of: str) -> Generator:
        return np.random.default_rng([self.seed, STREAMS[of]])

    def _spread(self) -> Spread:
        return fixed_spread(self.F, self.I)


_WIDE = (0.5, 0.7)
_SPARSE = {"names": 1000, "constraints": (5, 10)}


def _shape(**shape: object) -> Callable[..., DenseRanges]:
    return lambda **sizes: DenseRanges(**{**shape, **sizes})


RANGE_MIXES: dict[str, Callable[..., DenseRanges]] = {
    "w1": _shape(),
    "w2": _shape(**_SPARSE, zipf=1.0),
    "w3": _shape(equal=0.8),
    "w4": _shape(width=_WIDE),
    "w5": _shape(**_SPARSE, zipf=2.0, width=_WIDE),
}
