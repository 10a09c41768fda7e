"""Claims about Table 1 of [2014 §4.2.3], and the table beside the paper's.

"Original" descriptors have two readings: all sets of the users, and those that a user announces after dropping the
redundant ones among its own. Both are shown where the table has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row
from cbnet_lab.experiments.experiment import Tables
from cbnet_lab.experiments.internet import graph_size, on_generated, too_small
from cbnet_lab.experiments.y2014 import users
from cbnet_lab.report.page import Cell, Grid

_MIB = 2**20
_SIZES = (518.83, 54.63)  # MiB in the paper
_BYTES = 50  # per descriptor: 400 bits
_CLOSE, _TAGS_CLOSE = 0.2, 0.1  # relative to the paper's
_OVERHEAD = 0.1  # of a whole table beyond 50 bytes per descriptor
_ENOUGH = 100_000  # descriptors; in a smaller table, parts of a fixed size dominate
_READINGS = {"descriptors": "all sets", "announced": "sets that users announce"}
_INTERFACES = ClaimRule(
    84, f"over the drawn trees the median number of interfaces of the most central router is within {_CLOSE:.0%} of 325"
)
_LOAD = ClaimRule(
    85,
    f"the text's own numbers of clusters, users and descriptors per user give {users.PAPER_DESCRIPTORS:,} descriptors "
    f"within {_TAGS_CLOSE:.0%}, with 3.23 tags each within {_TAGS_CLOSE:.0%}",
)
_KEPT = ClaimRule(
    86, f"with {users.PAPER_CLUSTERS:,} clusters the share kept of all sets is within {_CLOSE:.0%} of 12.7 %"
)
_LARGEST = ClaimRule(
    87,
    f"its shares of destinations and of descriptors kept are within {_CLOSE:.0%} of 15.6 % and 10.7 %, its tags per "
    f"descriptor within {_TAGS_CLOSE:.0%} of 3.34, and it keeps a smaller share than all interfaces together",
)
_MEMORY = ClaimRule(
    88,
    f"{_BYTES} bytes per descriptor kept give the paper's sizes, and our whole table of Bloom filters takes at most "
    f"{_OVERHEAD:.0%} more",
)


def table_1_findings(tables: Tables, clusters: int) -> list[Finding]:
    """Return the findings of a run; clusters: of its largest population."""
    last = of_clusters(tables, clusters)
    return [
        _interfaces(tables),
        _load(last["all"], clusters),
        _kept(tables, clusters),
        _largest(tables, last, clusters),
        _memory(tables, last["all"]),
    ]


def table_1_grid(tables: Tables, clusters: int) -> Grid:
    """Return Table 1 beside the paper's."""
    last = of_clusters(tables, clusters)
    rows: list[list[Cell | str]] = []
    for name, text in (("interfaces", "Interfaces"), ("destinations", "Destinations"), ("tags", "Tags")):
        rows.append([text, *(f"{each[name]:,}" for each in _columns(last))])
    for name, reading in _READINGS.items():
        if name in last["all"]:
            theirs = {which: paper_row(which)["descriptors"] for which in last}
            cells = [f"{number:,}" for which in last for number in (theirs[which], last[which][name])]
            rows.append([f"Original descriptors: {reading}", *cells])
    rows.append(["Actual descriptors", *(f"{each['kept']:,}" for each in _columns(last))])
    rows.append(["Share kept, of all sets", *(f"{_share(each):.1%}" for each in _columns(last))])
    rows.append(
        [f"Size, {_BYTES} bytes each (MiB)", *(f"{each['kept'] * _BYTES / _MIB:,.2f}" for each in _columns(last))]
    )
    heads = ("", "paper, all interfaces", "ours, all interfaces", "paper, the largest", "ours, the largest")
    caption = (
        f"Table 1: the most central router on one tree; ours with {clusters:,} clusters of users, the paper's 2,500,000"
    )
    return Grid(caption, heads, rows)


def _columns(last: Mapping[str, Row]) -> list[Mapping[str, Any]]:
    """Return the four columns: the paper's and ours, of all interfaces and of the largest."""
    return [each for which, row in last.items() for each in (paper_row(which), row)]


def _interfaces(tables: Tables) -> Finding:
    trees = tables["trees"].to_pylist()
    counts = sorted(row["interfaces"] for row in trees)
    [chosen] = [row for row in trees if row["chosen"]]
    middle, theirs = float(np.median(counts)), paper_row()["interfaces"]
    ours = (
        f"{counts[0]:,} to {counts[-1]:,} interfaces on {len(trees)} trees, median {middle:,.0f}; the tree used has "
        f"{chosen['interfaces']:,}, and {graph_size(tables)[0] - 1:,} destinations"
    )
    if small := too_small(tables):
        return _INTERFACES.unmeasured(ours, small)
    where = on_generated(tables)
    if abs(middle - theirs) <= _CLOSE * theirs:
        return _INTERFACES.differs(ours, where) if where else _INTERFACES.holds(ours)
    if counts[0] <= theirs <= counts[-1]:
        reason = "it depends on the tree, which is not in the paper; the tree with the closest number is used below"
        return _INTERFACES.differs(ours, "; ".join(filter(None, (reason, where))))
    reason = "the paper's number is outside the range of all drawn trees"
    return _INTERFACES.fails(ours, "; ".join(filter(None, (reason, where))))


def _load(row: Row, clusters: int) -> Finding:
    """Return the finding on the load that follows from the text; ours is scaled to the paper's by design."""
    from cbnet.pipeline.population.population import APPLICATIONS

    text = users.PAPER_CLUSTERS * sum(app.share * app.descriptors for app in APPLICATIONS)
    loads = {reading: text * row[name] / row["descriptors"] for name, reading in _READINGS.items() if name in row}
    each, theirs = row["tags"] / row["descriptors"], paper_row()["tags"] / paper_row()["descriptors"]
    ours = (
        "by the text's numbers: "
        + ", ".join(f"{load:,.0f} ({reading})" for reading, load in loads.items())
        + f"; {each:.2f} tags each; used here: {row['descriptors']:,} of {clusters:,} clusters"
    )
    if abs(each - theirs) > _TAGS_CLOSE * theirs:
        return _LOAD.fails(ours, f"the paper has {theirs:.2f} tags per descriptor")
    close = [
        reading
        for reading, load in loads.items()
        if abs(load - users.PAPER_DESCRIPTORS) <= _TAGS_CLOSE * users.PAPER_DESCRIPTORS
    ]
    if not close:
        reason = "the paper's text and its table disagree: the text gives about twice as many, and no reading fits"
        return _LOAD.fails(ours, reason if len(loads) > 1 else "the text gives about twice the paper's table")
    return (
        _LOAD.holds(ours) if _READINGS["descriptors"] in close else _LOAD.differs(ours, f"if original means {close[0]}")
    )


def _kept(tables: Tables, clusters: int) -> Finding:
    counts = sorted({row["clusters"] for row in tables["interfaces"].to_pylist()})
    rows = {n: of_clusters(tables, n)["all"] for n in counts}
    last, theirs = rows[clusters], _share(paper_row())
    shares = {name: [row["kept"] / max(1, row[name]) for row in rows.values()] for name in _READINGS if name in last}
    by_size = ", ".join(f"{share:.1%} at {n:,}" for n, share in zip(counts, shares["descriptors"], strict=True))
    ours = (
        f"{last['kept']:,} kept: "
        + ", ".join(f"{each[-1]:.1%} of {last[name]:,} ({_READINGS[name]})" for name, each in shares.items())
        + f"; {last['distinct'] / max(1, last['descriptors']):.1%} are distinct; by clusters: {by_size}"
    )
    if small := too_small(tables):
        return _KEPT.unmeasured(ours, small)
    where = on_generated(tables)
    close = [name for name, each in shares.items() if abs(each[-1] - theirs) <= _CLOSE * theirs]
    if clusters < users.PAPER_CLUSTERS:
        all_sets = shares["descriptors"]
        if all_sets[-1] < (1 - _CLOSE) * theirs and all_sets == sorted(all_sets, reverse=True):
            return _KEPT.fails(
                ours, "fewer are kept than in the paper already, and the share falls as the population grows"
            )
        return _KEPT.unmeasured(
            ours, f"{clusters:,} of {users.PAPER_CLUSTERS:,} clusters; the share falls as they grow"
        )
    if not close:
        reason = (
            "fewer are kept than in the paper"
            if shares["descriptors"][-1] < theirs
            else "more are kept than in the paper"
        )
        return _KEPT.fails(ours, "; ".join(filter(None, (reason, where))))
    condition = "" if close[0] == "descriptors" else f"only of the {_READINGS[close[0]]}"
    reasons = "; ".join(filter(None, (condition, where)))
    return _KEPT.differs(ours, reasons) if reasons else _KEPT.holds(ours)


def _largest(tables: Tables, last: Mapping[str, Row], clusters: int) -> Finding:
    row, whole, paper = last["largest"], last["all"], paper_row("largest")
    behind, theirs = row["destinations"] / whole["destinations"], paper["destinations"] / paper_row()["destinations"]
    each, their_tags = row["tags"] / max(1, row["descriptors"]), paper["tags"] / paper["descriptors"]
    ours = (
        f"{row['destinations']:,} destinations ({behind:.1%}), {row['descriptors']:,} → {row['kept']:,} descriptors "
        f"({_share(row):.1%}, of all interfaces {_share(whole):.1%}), {row['tags']:,} tags ({each:.2f} each)"
    )
    if small := too_small(tables):
        return _LARGEST.unmeasured(ours, small)
    far = [
        name
        for name, value, expected, close in (
            ("its share of the destinations", behind, theirs, _CLOSE),
            ("its tags per descriptor", each, their_tags, _TAGS_CLOSE),
            ("its share kept", _share(row), _share(paper), _CLOSE),
        )
        if abs(value - expected) > close * expected
    ]
    if _share(row) >= _share(whole):
        far.append("it keeps no smaller share than all together")
    is_small = clusters < users.PAPER_CLUSTERS
    structural = [
        name for name in far if not is_small or name.startswith("its share of") or name.startswith("its tags")
    ]
    where = on_generated(tables)
    if structural:
        return _LARGEST.fails(ours, "; ".join(filter(None, (f"far from the paper's: {', '.join(structural)}", where))))
    if is_small:
        return _LARGEST.unmeasured(
            ours, f"{clusters:,} of {users.PAPER_CLUSTERS:,} clusters; the share kept falls as they grow"
        )
    return _LARGEST.differs(ours, "; ".join(filter(None, ("another graph and population", where))))


def _memory(tables: Tables, row: Row) -> Finding:
    computed = tuple(round(paper_row(which)["kept"] * _BYTES / _MIB, 2) for which in ("all", "largest"))
    each = {size["engine"]: size["bytes"] / max(1, row["kept"]) for size in tables["sizes"].to_pylist()}
    texts = ", ".join(f"{number:.0f} ({engine})" for engine, number in each.items())
    ours = (
        f"{computed[0]} and {computed[1]} MiB at {_BYTES} bytes; our whole tables of {row['kept']:,} descriptors take, "
        f"in bytes per descriptor: {texts}"
    )
    if computed != _SIZES:
        return _MEMORY.fails(ours, f"{_BYTES} bytes per descriptor do not give the paper's sizes")
    if row["kept"] < _ENOUGH:
        return _MEMORY.unmeasured(
            ours, f"a table of {row['kept']:,} descriptors, in which parts of a fixed size dominate"
        )
    reason = (
        f"the paper counts the filters alone; a table for matching takes {each['bloom'] / _BYTES:.2f} times as much"
    )
    return _MEMORY.decide(ours, each["bloom"] <= (1 + _OVERHEAD) * _BYTES, reason)


def of_clusters(tables: Tables, clusters: int) -> dict[str, Row]:
    """Return the row of all interfaces and that of the one with the most destinations."""
    rows = [row for row in tables["interfaces"].to_pylist() if row["clusters"] == clusters]
    [whole] = [row for row in rows if row["interface"] is None]
    single = [row for row in rows if row["interface"] is not None]
    return {"all": whole, "largest": max(single, key=lambda row: (row["destinations"], -row["interface"]))}


def paper_row(which: str = "all") -> dict[str, int]:
    """Return a column of the paper's Table 1: "all" or "largest"."""
    from cbnet.pipeline.tables.table_1 import PAPER_TABLE1

    return PAPER_TABLE1[which]


def _share(row: Mapping[str, Any]) -> float:
    return float(row["kept"] / max(1, row["descriptors"]))
