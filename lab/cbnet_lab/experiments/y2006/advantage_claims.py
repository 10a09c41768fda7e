"""Claims about the disjunction advantage α [2006 §4], checked against our tables.

A run that is too small to decide leaves a claim unmeasured. Where we show a variant beside the method of the paper, the
paper's own method decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import expm1
from typing import Any, TypeAlias

import pyarrow as pa

from cbnet.language import reduce
from cbnet.routing.sizing.advantage import expected
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.y2006.monte_carlo import READINGS, RULES, SHARE, UNIVERSES

Points: TypeAlias = dict[int, dict[str, Any]]  # number of predicates -> percentiles
Curves: TypeAlias = Mapping[tuple[str, str], Points]  # by scenario and rule

_HALF = 0.5
_ABOUT = 0.1  # accepted around the paper's 50 %
_CLOSE = 0.01  # Monte Carlo to the closed form, and that to its approximation
_RELIABLY = 100  # predicates; with fewer, no scenario is reliably at 0.5 [§4.2]
_CLOSED = 1000  # predicates; by then a spread that is wide at 10s to 100s can have closed
_ENOUGH = 20  # sets; with fewer, the 5th and 95th percentile are the minimum and maximum
_SEVEN_THOUSAND = (5600, 8400)  # accepted for the paper's 7000: 20 %
_NAMES = {"distinct": "k distinct messages", "draws": "k draws", "pairwise": "pairwise", "full": "full"}


_SIZES = "in universes of 10^4, 10^5 and 10^6 messages"
_RULES: Mapping[int, ClaimRule] = {
    rule.claim: rule
    for rule in (
        ClaimRule(60, f"medians are within {_CLOSE} of the closed form and of (1 - e^-x) / x, {_SIZES}"),
        ClaimRule(
            61, f"Zipf's median is below the uniform one at every ratio and by both readings of size k, {_SIZES}"
        ),
        ClaimRule(
            62, f"predicates of k distinct messages shrink by {_HALF - _ABOUT:.0%} to {_HALF + _ABOUT:.0%}, {_SIZES}"
        ),
        ClaimRule(
            64,
            "in all scenarios the median falls with ten times as many predicates, and p5 to p95 halves from its widest",
        ),
        ClaimRule(
            65, "with 500 names and 10 predicates or more, Zipf's median is never above the uniform one, by both rules"
        ),
        ClaimRule(66, f"in every scenario the 95th percentile at {_RELIABLY} predicates is above {_HALF}"),
        ClaimRule(
            67,
            "by pairwise rules the median falls below {} from {:,} to {:,} predicates".format(_HALF, *_SEVEN_THOUSAND),
        ),
    )
}


@dataclass(frozen=True)
class AdvantageComparison:
    """A statement of the paper, in our words, and our result; a claim of `claims.toml` may have several."""

    number: int
    claim: str
    paper: str
    ours: str
    holds: bool | None  # None: this run cannot decide
    decides: bool = True  # whether it is the paper's own method, and not a variant shown beside it


def general_comparisons(table: pa.Table) -> Iterator[AdvantageComparison]:
    """Yield the comparisons of the general model with [§4.1]."""
    curves = _curves(table)
    universes = sorted({int(scenario.split("-")[1]) for scenario, _ in curves})
    yield _closed_form(curves, universes)
    yield _zipf_is_lower(curves, universes)
    yield from (_five_predicates(curves, universes, reading) for reading in READINGS)


def specific_comparisons(table: pa.Table) -> Iterator[AdvantageComparison]:
    """Yield the comparisons of the specific model with [§4.2], for the scenarios that were run."""
    curves = _curves(table)
    reduced = str(reduce("(x > 10 and y = 100) or (y > 0)", "pairwise"))
    yield AdvantageComparison(63, "(x > 10 and y = 100) or (y > 0) reduces", "y > 0", reduced, reduced == "y > 0")
    yield _falls(curves)
    yield _spread_closes(curves)
    if {("zipf-500", rule) for rule in RULES} | {("uniform-500", rule) for rule in RULES} <= set(curves):
        yield _zipf_reduces_better(curves)
    if any(count >= _RELIABLY for count in next(iter(curves.values()))):
        yield _none_is_reliable(curves)
    if ("uniform-500", "pairwise") in curves:
        yield from (_worst(curves["uniform-500", rule], rule) for rule in RULES)


def findings_of(
    comparisons: Iterable[AdvantageComparison], reasons: Mapping[int, str], numbers: Collection[int] = ()
) -> list[Finding]:
    """Return a finding for each claim: it holds if all comparisons that decide it hold, and fails if one does not.

    numbers: claims to include even without a comparison; they are unmeasured.
    """
    groups: dict[int, list[AdvantageComparison]] = {number: [] for number in numbers}
    for comparison in comparisons:
        groups.setdefault(comparison.number, []).append(comparison)
    return [_finding(number, group, reasons.get(number, "")) for number, group in sorted(groups.items())]


def _finding(number: int, group: Sequence[AdvantageComparison], reason: str) -> Finding:
    rule = _RULES[number]
    ours = "; ".join(f"{each.claim}: {each.ours}" if len(group) > 1 else each.ours for each in group) or "none"
    results = {each.holds for each in group if each.decides}
    if False in results:
        return rule.fails(ours, reason or "different numbers")
    if None in results or not results:
        return rule.unmeasured(ours, "too few sets, predicates or messages")
    return rule.holds(ours)


def _curves(table: pa.Table) -> Curves:
    curves: dict[tuple[str, str], Points] = defaultdict(dict)
    for row in table.to_pylist():
        curves[row["scenario"], row["rule"]][row["predicates"]] = row
    return curves


def _closed_form(curves: Curves, universes: list[int]) -> AdvantageComparison:
    exact, approximate = (
        [
            max(
                abs(row["p50"] - form(count, universe))
                for count, row in curves[f"uniform-{universe}", "distinct"].items()
            )
            for universe in universes
        ]
        for form in (_exact, _approximate)
    )
    ours = (
        f"differs from the closed form by at most {_each(universes, [f'{part:.4f}' for part in exact])}, "
        f"from (1 - e^-x) / x by at most {_each(universes, [f'{part:.4f}' for part in approximate])}"
    )
    holds = _decided(universes, max(*exact, *approximate) <= _CLOSE)
    return AdvantageComparison(60, "uniform predicates follow the closed form", "exactly", ours, holds)


def _exact(predicates: int, universe: int) -> float:
    return expected(predicates, universe // SHARE, universe)


def _approximate(predicates: int, universe: int) -> float:
    ratio = predicates * (universe // SHARE) / universe
    return -expm1(-ratio) / ratio


def _decided(universes: list[int], holds: bool) -> bool | None:
    """Return the result if all universes of the paper were drawn; a failure in one of them always counts."""
    return holds if not holds or set(UNIVERSES) <= set(universes) else None


def _zipf_is_lower(curves: Curves, universes: list[int]) -> AdvantageComparison:
    lower = [
        points["p50"] < curves[f"uniform-{universe}", reading][count]["p50"]
        for universe in universes
        for reading in READINGS
        for count, points in curves[f"zipf-{universe}", reading].items()
        if count > 1 or reading == "draws"  # k distinct messages alone always have α = 1
    ]
    ours = f"at {sum(lower)} of {len(lower)} points"
    return AdvantageComparison(
        61, "Zipf's α is below the uniform one", "at every ratio, also up to 0.1", ours, _decided(universes, all(lower))
    )


def _five_predicates(curves: Curves, universes: list[int], reading: str) -> AdvantageComparison:
    """Return how far five predicates shrink; the paper defines their size as the number of messages in the set."""
    saved = [1 - curves[f"zipf-{universe}", reading][5]["p50"] for universe in universes]
    claim = f"Zipf: 5 predicates of 1 message in {SHARE} each shrink by ({_NAMES[reading]})"
    holds = _decided(universes, all(abs(part - _HALF) <= _ABOUT for part in saved))
    ours = _each(universes, [f"{part:.0%}" for part in saved])
    return AdvantageComparison(62, claim, "about 50 %", ours, holds, decides=reading == "distinct")


def _falls(curves: Curves) -> AdvantageComparison:
    steps = [
        points[10 * count]["p50"] < row["p50"]
        for points in curves.values()
        for count, row in points.items()
        if count >= 10 and 10 * count in points
    ]
    ours = f"at {sum(steps)} of {len(steps)} steps from 10 or more to ten times as many"
    return AdvantageComparison(
        64, "the median falls as predicates are added", "yes", ours, all(steps) if steps else None
    )


def _spread_closes(curves: Curves) -> AdvantageComparison:
    texts, closes = [], []
    for (scenario, rule), points in curves.items():
        if rule == RULES[0]:
            spreads = {count: row["p95"] - row["p5"] for count, row in points.items()}
            widest, last = max(spreads, key=spreads.__getitem__), max(spreads)
            closes.append(spreads[last] < spreads[widest] / 2)
            texts.append(f"{scenario} {spreads[widest]:.2f} at {widest:,}, {spreads[last]:.2f} at {last:,}")
    ours = f"in {sum(closes)} of {len(closes)} scenarios; {'; '.join(texts)}"
    is_decided = _sets(curves) >= _ENOUGH and all(max(points) >= _CLOSED for points in curves.values())
    claim = "5th to 95th percentile: wide, then half of it or less"
    return AdvantageComparison(64, claim, "wide at 10s to 100s", ours, all(closes) if is_decided else None)


def _zipf_reduces_better(curves: Curves) -> AdvantageComparison:
    differences = [
        row["p50"] - curves["uniform-500", rule][count]["p50"]
        for rule in RULES
        for count, row in curves["zipf-500", rule].items()
        if count >= 10
    ]
    lower, higher = sum(part < 0 for part in differences), sum(part > 0 for part in differences)
    ours = f"lower at {lower} of {len(differences)} points from 10 predicates on, higher at {higher}"
    holds = lower > 0 and not higher if differences else None
    return AdvantageComparison(65, "500 names: Zipf has a lower median than uniform", "yes", ours, holds)


def _none_is_reliable(curves: Curves) -> AdvantageComparison:
    count = max(count for count in next(iter(curves.values())) if count <= _RELIABLY)
    tops = {key: points[count]["p95"] for key, points in curves.items()}
    lowest = min(tops, key=tops.__getitem__)
    ours = f"lowest 95th percentile at {count}: {tops[lowest]:.2f} ({', '.join(lowest)})"
    holds = tops[lowest] > _HALF if _sets(curves) >= _ENOUGH else None
    return AdvantageComparison(66, f"no scenario is reliably at 0.5 below {_RELIABLY}", "none", ours, holds)


def _worst(points: Points, rule: str) -> AdvantageComparison:
    below = {name: _first_below(points, name) for name in ("p50", "p95")}
    ours = "; ".join(
        f"{label} {f'not up to {max(points):,}' if below[name] is None else f'from about {below[name]:,.0f} on'}"
        for name, label in (("p50", "median"), ("p95", "95th percentile"))
    )
    first, low, high = below["p50"], *_SEVEN_THOUSAND
    holds = None if first is None and max(points) < high else first is not None and low <= first <= high
    claim = f"uniform-500: below 0.5 ({_NAMES[rule]})"
    return AdvantageComparison(67, claim, "from 7,000 on", ours, holds, decides=rule == "pairwise")


def _first_below(points: Points, name: str) -> float | None:
    """Return the number of predicates where a percentile falls below 0.5, by linear interpolation."""
    last = None
    for count, row in sorted(points.items()):
        if row[name] < _HALF:
            if last is None:
                return float(count)
            before, after = float(points[last][name]), float(row[name])
            return last + (count - last) * (before - _HALF) / (before - after)
        last = count
    return None


def _sets(curves: Curves) -> int:
    """Return the smallest number of sets of a scenario."""
    return min(int(row["sets"]) for points in curves.values() for row in points.values())


def _each(universes: list[int], values: list[str]) -> str:
    return ", ".join(f"{value} ({universe:,})" for universe, value in zip(universes, values, strict=True))
