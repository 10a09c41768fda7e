"""Claims of [2014 §3.1, §4.1] about trees, checked against measurements.

The paper's text gives ranges for the box plots of Figure 4. The average over all pairs is compared with them; beside
it are the 1st and 99th percentiles, over pairs and over the averages of sources. (On the worst tree a pair takes an
integer number of extra hops, so the paper's 2.5 must be an average of some kind.) A claim without a limit has no
verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbnet.topology.survey.tree_statistics import TreeStatistics
from cbnet.topology.survey.value_counts import ValueCounts
from cbnet.topology.trees.ties import Ties

_FEW, _MANY = 8, 128  # trees
_MEAN, _WORST = (1.0, 2.0), (2.5, 5.5)  # hops more, with few trees


@dataclass(frozen=True)
class TreeClaim:
    """A statement of the paper, and the measured result."""

    ties: Ties
    source: str
    statement: str
    result: str
    agrees: bool | None

    def members(self) -> dict[str, Any]:
        """Return the members of the JSON object."""
        return {
            "claim": self.statement,
            "where": self.source,
            "ties": str(self.ties),
            "found": self.result,
            "agrees": self.agrees,
        }


def claims(statistics: Sequence[TreeStatistics], *, in_hops: bool) -> Iterator[TreeClaim]:
    """Yield the claims that the statistics can check; those about lengths only if they are hops."""
    for ties in dict.fromkeys(each.ties for each in statistics):
        by_k = {each.k: each for each in statistics if each.ties is ties}
        if in_hops:
            yield from _about_lengths(ties, by_k)
        yield from _about_interfaces(ties, by_k)
        yield from _about_links(ties, by_k)


def _about_lengths(ties: Ties, by_k: dict[int, TreeStatistics]) -> Iterator[TreeClaim]:
    if _FEW not in by_k:
        return
    few, most = by_k[_FEW].stretch, by_k[max(by_k)]
    yield _within(ties, "8 trees: 1 to 2 hops more on average", _MEAN, few.totals, _FEW, few.means)
    statement = "8 trees: about 2.5 to 5.5 hops more on the worst tree"
    yield _within(ties, statement, _WORST, few.largest, 1, few.means_largest)
    if most.k > _FEW:
        result = f"{few.totals.mean / _FEW:.2f} with 8 trees, {most.stretch.totals.mean / most.k:.2f} with {most.k}"
        yield TreeClaim(ties, "Figure 4", "a few trees are enough: more change little on average", result, None)


def _within(
    ties: Ties, statement: str, limits: tuple[float, float], pairs: ValueCounts, unit: int, sources: NDArray[np.float64]
) -> TreeClaim:
    mean = pairs.mean / unit
    low, high = (value / unit for value in pairs.percentiles([1, 99]))
    first, last = np.percentile(sources, [1, 99], method="inverted_cdf")
    result = f"{mean:.2f}; pairs {low:.2f} to {high:.2f}, sources {first:.2f} to {last:.2f}"
    return TreeClaim(ties, "Figure 4", statement, result, limits[0] <= mean <= limits[1])


def _about_interfaces(ties: Ties, by_k: dict[int, TreeStatistics]) -> Iterator[TreeClaim]:
    most = by_k[max(by_k)]
    [ninety_nine] = most.interfaces.percentiles([99])
    result = f"at most {ninety_nine} for 99 % of the interfaces, with {most.k} trees"
    yield TreeClaim(ties, "Figure 5", "only a handful of distinct trees per interface", result, None)
    if _MANY in by_k:
        largest = by_k[_MANY].most
        result = f"{largest.min()} to {largest.max()} in {len(largest)} selections"
        yield TreeClaim(ties, "Figure 5", "128 trees: at most 90 at an interface", result, None)


def _about_links(ties: Ties, by_k: dict[int, TreeStatistics]) -> Iterator[TreeClaim]:
    one, most = by_k[min(by_k)], by_k[max(by_k)]
    if one.k == 1 < most.k:
        links = most.links_used.mean() / one.links_used.mean()
        load = one.largest_load.mean() / most.largest_load.mean()
        result = f"{most.k} trees use {links:.1f} times as many links; the largest load is 1/{load:.1f}"
        statement = "several trees use more links than one, and spread the traffic"
        yield TreeClaim(ties, "§3.1", statement, result, bool(links > 1 and load > 1))
