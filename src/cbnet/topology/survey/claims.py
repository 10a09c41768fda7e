"""Claims: do trees do here what [2014 §3.1, §4.1] says of them?

The text gives ranges for the box plots of Figure 4. The average over all pairs is held against them; beside it stand
the 1st and 99th percentiles, over pairs and over the averages of sources. (On the worst tree a pair takes a whole
number of hops more, so the paper's 2.5 must be an average of some kind.) Where its words set no limit there is no
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
    """What the paper says, and what was found."""

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


def claims(findings: Sequence[TreeStatistics], *, in_hops: bool) -> Iterator[TreeClaim]:
    """Yield the claims that can be held against the findings; about lengths only if they are hops."""
    for ties in dict.fromkeys(each.ties for each in findings):
        of_k = {each.k: each for each in findings if each.ties is ties}
        if in_hops:
            yield from _about_lengths(ties, of_k)
        yield from _about_interfaces(ties, of_k)
        yield from _about_links(ties, of_k)


def _about_lengths(ties: Ties, of_k: dict[int, TreeStatistics]) -> Iterator[TreeClaim]:
    if _FEW not in of_k:
        return
    few, most = of_k[_FEW].stretch, of_k[max(of_k)]
    yield _within(ties, "8 trees: 1 to 2 hops more on average", _MEAN, few.totals, _FEW, few.means)
    said = "8 trees: about 2.5 to 5.5 hops more on the worst tree"
    yield _within(ties, said, _WORST, few.largest, 1, few.means_largest)
    if most.k > _FEW:
        found = f"{few.totals.mean / _FEW:.2f} with 8 trees, {most.stretch.totals.mean / most.k:.2f} with {most.k}"
        yield TreeClaim(ties, "Figure 4", "a few trees are enough: more change little on average", found, None)


def _within(
    ties: Ties, said: str, limits: tuple[float, float], pairs: ValueCounts, unit: int, sources: NDArray[np.float64]
) -> TreeClaim:
    mean = pairs.mean / unit
    one, other = (place / unit for place in pairs.percentiles([1, 99]))
    first, last = np.percentile(sources, [1, 99], method="inverted_cdf")
    found = f"{mean:.2f}; pairs {one:.2f} to {other:.2f}, sources {first:.2f} to {last:.2f}"
    return TreeClaim(ties, "Figure 4", said, found, limits[0] <= mean <= limits[1])


def _about_interfaces(ties: Ties, of_k: dict[int, TreeStatistics]) -> Iterator[TreeClaim]:
    most = of_k[max(of_k)]
    [ninety_nine] = most.interfaces.percentiles([99])
    found = f"at most {ninety_nine} for 99 % of the interfaces, with {most.k} trees"
    yield TreeClaim(ties, "Figure 5", "only a handful of distinct trees per interface", found, None)
    if _MANY in of_k:
        largest = of_k[_MANY].most
        found = f"{largest.min()} to {largest.max()} in {len(largest)} selections"
        yield TreeClaim(ties, "Figure 5", "128 trees: at most 90 at an interface", found, None)


def _about_links(ties: Ties, of_k: dict[int, TreeStatistics]) -> Iterator[TreeClaim]:
    one, most = of_k[min(of_k)], of_k[max(of_k)]
    if one.k == 1 < most.k:
        links = most.links_used.mean() / one.links_used.mean()
        load = one.largest_load.mean() / most.largest_load.mean()
        found = f"{most.k} trees use {links:.1f} times as many links; the largest load is 1/{load:.1f}"
        said = "several trees use more links than one, and spread the traffic"
        yield TreeClaim(ties, "§3.1", said, found, bool(links > 1 and load > 1))
