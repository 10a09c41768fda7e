"""Figures 9 to 12 of [2001].

9, 12     time per message by number of filters, interfaces and names; 12 leaves out one interface per filter
10, 11    interfaces matched per message, and messages that match nothing, the first column of Figure 10
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

import numpy as np

from cbnet_lab.experiments.curves import (
    Metrics,
    Row,
    end_point,
    grouped,
    interval,
    last_decade,
    median,
    medians,
    slope,
    where,
)
from cbnet_lab.experiments.experiment import ExperimentContext, Parameters, Rows, experiment
from cbnet_lab.experiments.timing import CENTRAL, COUNTING, PIVOT, TimedComparison, generated, swept
from cbnet_lab.workload import Forwarding2001

_PAPER_FILTERS = 8_192_000
_MANY_MATCHES, _FEW_MATCHES = 100, 1000  # names
_LARGEST = "I = 500"
_FEW_NAMES, _MANY_NAMES = (50, 100), 1000
_SHOWN = (1000, 10_000, 100_000)  # filters
_MIDDLE = _SHOWN[1]
_FEW = 0.1  # of the interfaces
_INTERFACES = 50  # our choice; the paper does not state I
_BINS = ("none", "up to 10 %", "up to 50 %", "up to 99 %", "all")
_EDGES = (0.0, _FEW, 0.5, 1.0)


# --- Figures 9 and 12


def _mixes_9(parameters: Parameters) -> Iterator[Forwarding2001]:
    for names, filters, interfaces in product(parameters.names, parameters.filters, parameters.interfaces):
        if names != _FEW_MATCHES or filters <= parameters.most_with_few:
            yield Forwarding2001(N=parameters.messages, F=filters, I=interfaces or None, A=names)


def _metrics_9(rows: Rows, _: Parameters) -> Metrics:
    counting = where(rows["times"], method=COUNTING.name)
    groups = {case: group for (case,), group in grouped(where(counting, names=_MANY_MATCHES), "case").items()}
    pivot = where(rows["times"], method=PIVOT.name, names=_MANY_MATCHES)
    curves = {case: medians(group, "filters") for case, group in groups.items()}
    slopes = [
        {
            "case": case, "interfaces": group[0]["interfaces"], "slope": slope(last_decade(curves[case])),
            "counters": slope(last_decade(medians(group, "filters", "counters"))),
        }
        for case, group in groups.items()
    ]  # fmt: skip
    fixed = [row for row in slopes if row["case"] != CENTRAL]
    ends = {
        case: end_point(curve, _PAPER_FILTERS)
        | {"pivot": median(where(pivot, case=case, filters=max(curve)))}
        for case, curve in curves.items()
    }  # fmt: skip
    worst, largest = ends[CENTRAL], ends.get(_LARGEST)
    others = [end["us"] for case, end in ends.items() if case != CENTRAL and end["filters"] == worst["filters"]]
    return {
        "central": worst, "largest": largest, "slopes": slopes, "fixed": fixed,
        "over_largest": [{"times": worst["us"] / largest["us"]}] if largest else [],
        "over_next": worst["us"] / max(others, default=worst["us"]),
        "counters": interval([row["counters"] for row in fixed] or [0.0]),
        **_by_names(counting), **_plateau([group for case, group in groups.items() if case != CENTRAL]),
    }  # fmt: skip


def _by_names(rows: list[Row]) -> Metrics:
    """Return the least and greatest factor by which fewer names increase time and postings, over all tables."""
    ratios: dict[str, list[float]] = {"us": [], "postings": []}
    for group in grouped(rows, "case", "filters").values():
        few, many = where(group, names=_FEW_MATCHES), where(group, names=_MANY_MATCHES)
        if few and many:
            for value, own in ratios.items():
                own.append(median(many, value) / max(median(few, value), 1e-9))
    return {f"{end.__name__}_{value}": end(own) for value, own in ratios.items() for end in (min, max)}


def _plateau(groups: list[list[Row]]) -> Metrics:
    """Return the exponents of I in time, postings and counters, in the largest tables with fixed I."""
    last = max(row["filters"] for group in groups for row in group)
    return {
        f"exponent_{value}": slope({group[0]["interfaces"]: medians(group, "filters", value)[last] for group in groups})
        for value in ("us", "postings", "counters")
    } | {"fixed_filters": last}


FIGURES_9_12 = experiment("2001-figures-9-12", swept((COUNTING, PIVOT), _mixes_9), _metrics_9)


# --- Figures 10 and 11


def _matched(parameters: Parameters, context: ExperimentContext) -> Iterator[Row]:
    cases = [
        dict(zip(("names", "filters", "interfaces"), case, strict=True))
        for case in product(parameters.names, parameters.filters, parameters.interfaces)
    ]
    for case in context.track(cases, lambda case: f"{case['filters']:,} filters"):
        mix = Forwarding2001(N=parameters.messages, F=case["filters"], I=case["interfaces"], A=case["names"])
        comparison = TimedComparison(generated(mix, context), (PIVOT, COUNTING))
        answer, _ = comparison.checked()[0]
        counts = np.unique(np.diff(answer.offsets), return_counts=True)
        for matched, messages in zip(*(part.tolist() for part in counts), strict=True):
            yield {**case, "matched": matched, "messages": messages}


def _share(rows: Sequence[Row], low: float, high: float) -> float:
    """Return the share of messages that match a share of the interfaces from `low` to `high`."""
    messages = [row["messages"] for row in rows if low <= row["matched"] / row["interfaces"] <= high]
    return float(sum(messages) / sum(row["messages"] for row in rows))


def _shares(rows: Sequence[Row], names: int, high: float) -> list[Row]:
    """Return the share of messages that match at most a share of the interfaces, by filters."""
    groups = grouped(where(rows, names=names), "filters")
    return [{"filters": filters, "share": _share(group, 0, high)} for (filters,), group in groups.items()]


def _shown(shares: list[Row]) -> list[Row]:
    """Return the shares with the fewest and the most filters, and in the middle."""
    filters = [row["filters"] for row in shares]
    return [row for row in shares if row["filters"] in (min(filters), max(filters), _MIDDLE)]


def _metrics_10(rows: Rows, _: Parameters) -> Metrics:
    matched = rows["matched"]
    few, ignored = (_shares(matched, _MANY_NAMES, high) for high in (_FEW, 0.0))
    filters = max(row["filters"] for row in few)
    to_all = [
        {"names": names, "interfaces": interfaces, "share": _share(group, 1, 1)}
        for (names, interfaces), group in grouped(where(matched, filters=filters), "names", "interfaces").items()
        if names != _MANY_NAMES
    ]
    falling = [_ends(_shares(matched, names, 0.0)) | {"names": names} for names in _FEW_NAMES]
    return {
        "filters": filters, "few": few, "few_shown": _shown(few), "to_all": to_all,
        "to_all_of_50": where(to_all, interfaces=_INTERFACES), "ignored": ignored, "ignored_shown": _shown(ignored),
        "falling": falling, "first": max(row["first"] for row in falling), "last": max(row["last"] for row in falling),
    }  # fmt: skip


def _ends(shares: list[Row]) -> Row:
    """Return the shares with the fewest filters, and with about 10,000."""
    by_filters = {row["filters"]: row["share"] for row in shares}
    fewest, middle = min(by_filters), min(by_filters, key=lambda known: abs(known - _MIDDLE))
    return {"fewest": fewest, "first": by_filters[fewest], "last": by_filters[middle]}


def _charts_10(rows: Rows, parameters: Parameters) -> dict[str, list[Row]]:
    matched = rows["matched"]
    shown = {filters for filters in _SHOWN if filters in parameters.filters} or {*parameters.filters}
    groups = grouped([row for row in matched if row["filters"] in shown], "names", "interfaces", "filters")
    return {
        "figure-10": [
            {"of": f"A = {names}, I = {many}", "to": bin, "filters": f"F = {filters:,}", "share": 100 * share}
            for (names, many, filters), group in groups.items()
            for bin, share in zip(_BINS, _binned(group), strict=True)
        ],
        "figure-11": [
            {"of": f"A = {names}", "filters": row["filters"], "ignored": 100 * row["share"]}
            for names in parameters.names
            for row in _shares(matched, names, 0.0)
        ],
    }


def _binned(rows: Sequence[Row]) -> list[float]:
    inner = [_share(rows, low + 1e-9, high - (1e-9 if high == 1 else 0)) for low, high in pairwise(_EDGES)]
    return [_share(rows, 0, 0), *inner, _share(rows, 1, 1)]


FIGURES_10_11 = experiment("2001-figures-10-11", {"matched": _matched}, _metrics_10, _charts_10)
