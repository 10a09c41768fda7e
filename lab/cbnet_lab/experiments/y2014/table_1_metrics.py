"""Metrics of Table 1 of [2014 §4.2.3], and the table beside the paper's.

"Original" descriptors have two readings: all sets of the users, and those that a user announces after dropping the
redundant ones among its own. Both are shown where the table has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np

from cbnet_lab.experiments.curves import Metrics, Row, where
from cbnet_lab.experiments.experiment import Rows
from cbnet_lab.experiments.y2014 import users
from cbnet_lab.report.page import Cell, Grid

_MIB = 2**20
_BYTES = 50  # per descriptor: 400 bits
_READINGS = {"descriptors": "all sets", "announced": "sets that users announce"}


def table_1_metrics(rows: Rows, clusters: int) -> Metrics:
    """Return the metrics of a run; clusters: of its largest population."""
    last = of_clusters(rows["interfaces"], clusters)
    return {
        **_interfaces(rows["trees"]), **_load(last["all"]), **_kept(rows["interfaces"], clusters),
        **_largest(last), **_memory(rows["sizes"], last["all"]), "clusters": clusters,
    }  # fmt: skip


def _interfaces(trees: list[Row]) -> Metrics:
    counts = sorted(row["interfaces"] for row in trees)
    middle, theirs = float(np.median(counts)), paper_row()["interfaces"]
    return {
        "least": counts[0], "most": counts[-1], "trees": len(trees), "median": middle,
        # the paper's number, if some tree has as few and some tree as many
        "reached": theirs if counts[0] <= theirs <= counts[-1] else middle,
        "chosen": where(trees, chosen=True)[0]["interfaces"],
    }  # fmt: skip


def _load(row: Row) -> Metrics:
    """Return the load that follows from the text; ours is scaled to the paper's by design."""
    from cbnet.pipeline.population.population import APPLICATIONS

    text = users.PAPER_CLUSTERS * sum(app.share * app.descriptors for app in APPLICATIONS)
    loads = [
        {"reading": reading, "load": text * row[name] / row["descriptors"]}
        for name, reading in _READINGS.items()
        if name in row
    ]
    each = [load["load"] for load in loads]
    return {
        "loads": loads, "load": each[0], "closest_load": _closest(each, users.PAPER_DESCRIPTORS),
        "descriptors": row["descriptors"], "tags_each": row["tags"] / row["descriptors"],
    }  # fmt: skip


def _closest(values: list[float], target: float) -> float:
    return min(values, key=lambda value: abs(value - target))


def _kept(rows: list[Row], clusters: int) -> Metrics:
    counts = sorted({row["clusters"] for row in rows})
    wholes = [of_clusters(rows, count)["all"] for count in counts]
    last, theirs = wholes[-1], _share(paper_row())
    by_clusters = [{"clusters": row["clusters"], "share": _share(row)} for row in wholes]
    shares = [row["share"] for row in by_clusters]
    is_falling = clusters < users.PAPER_CLUSTERS and shares == sorted(shares, reverse=True)
    readings = [
        {"reading": reading, "of": last[name], "share": last["kept"] / max(1, last[name])}
        for name, reading in _READINGS.items()
        if name in last
    ]
    return {
        "kept": last["kept"], "readings": readings, "kept_share": shares[-1],
        "closest_share": _closest([row["share"] for row in readings], theirs), "by_clusters": by_clusters,
        "distinct_share": last["distinct"] / max(1, last["descriptors"]),
        "falling_share": shares[-1] if is_falling else inf,
    }  # fmt: skip


def _largest(last: Mapping[str, Row]) -> Metrics:
    row, whole = last["largest"], last["all"]
    return {
        "largest": row, "behind": row["destinations"] / whole["destinations"],
        "largest_tags_each": row["tags"] / max(1, row["descriptors"]), "largest_share": _share(row),
        "beyond_all": _share(row) - _share(whole),
    }  # fmt: skip


def _memory(sizes: list[Row], row: Row) -> Metrics:
    each = [{"engine": size["engine"], "bytes": size["bytes"] / max(1, row["kept"])} for size in sizes]
    [bloom] = where(each, engine="bloom")
    return {
        "computed": [round(paper_row(which)["kept"] * _BYTES / _MIB, 2) for which in ("all", "largest")],
        "bytes_each": each, "bloom_bytes": bloom["bytes"], "over_filters": bloom["bytes"] / _BYTES,
    }  # fmt: skip


def table_1_grid(rows: list[Row], clusters: int) -> Grid:
    """Return Table 1 beside the paper's."""
    last = of_clusters(rows, clusters)
    lines: list[list[Cell | str]] = []
    for name, text in (("interfaces", "Interfaces"), ("destinations", "Destinations"), ("tags", "Tags")):
        lines.append([text, *(f"{each[name]:,}" for each in _columns(last))])
    for name, reading in _READINGS.items():
        if name in last["all"]:
            theirs = {which: paper_row(which)["descriptors"] for which in last}
            cells = [f"{number:,}" for which in last for number in (theirs[which], last[which][name])]
            lines.append([f"Original descriptors: {reading}", *cells])
    lines.append(["Actual descriptors", *(f"{each['kept']:,}" for each in _columns(last))])
    lines.append(["Share kept, of all sets", *(f"{_share(each):.1%}" for each in _columns(last))])
    lines.append(
        [f"Size, {_BYTES} bytes each (MiB)", *(f"{each['kept'] * _BYTES / _MIB:,.2f}" for each in _columns(last))]
    )
    heads = ("", "paper, all interfaces", "ours, all interfaces", "paper, the largest", "ours, the largest")
    caption = (
        f"Table 1: the most central router on one tree; ours with {clusters:,} clusters of users, the paper's 2,500,000"
    )
    return Grid(caption, heads, lines)


def _columns(last: Mapping[str, Row]) -> list[Mapping[str, Any]]:
    """Return the four columns: the paper's and ours, of all interfaces and of the largest."""
    return [each for which, row in last.items() for each in (paper_row(which), row)]


def of_clusters(rows: list[Row], clusters: int) -> dict[str, Row]:
    """Return, of a population, the row of all interfaces and that of the one with the most destinations."""
    own = where(rows, clusters=clusters)
    [whole] = where(own, interface=None)
    single = [row for row in own if row["interface"] is not None]
    return {"all": whole, "largest": max(single, key=lambda row: (row["destinations"], -row["interface"]))}


def paper_row(which: str = "all") -> dict[str, int]:
    """Return a column of the paper's Table 1: "all" or "largest"."""
    from cbnet.pipeline.tables.table_1 import PAPER_TABLE1

    return PAPER_TABLE1[which]


def _share(row: Mapping[str, Any]) -> float:
    return float(row["kept"] / max(1, row["descriptors"]))
