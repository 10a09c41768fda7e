"""The page of a pipeline run: results, quality of the data, costs and lineage, from the manifests of its stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from cbnet_lab.report.chart import Chart
from cbnet_lab.report.page import Cell, Grid, Page, Section

Manifest: TypeAlias = Mapping[str, Any]  # of `_cbnet.json`

_MIB = 2**20
_MAX_BARS = 20  # interfaces of a chart
_TABLE_1 = ("destinations", "tags", "descriptors", "announced", "kept", "bytes")
_COSTS: Sequence[tuple[str, str, float]] = (
    ("executor_seconds", "executor s", 1),
    ("java_cpu_seconds", "Java CPU s", 1),
    ("python_cpu_seconds", "Python CPU s", 1),
    ("tasks", "tasks", 1),
    ("failed_tasks", "failed", 1),
    ("shuffle_bytes", "shuffled MiB", _MIB),
    ("spilled_bytes", "spilled MiB", _MIB),
    ("peak_bytes", "peak MiB", _MIB),
)


def pipeline_page(out: str, manifests: Mapping[str, Manifest]) -> Page:
    """Return the page of a run; manifests: of its stages, by name, in order."""
    times = sorted(manifest["written"] for manifest in manifests.values())
    size = sum(manifest["bytes"] for manifest in manifests.values())
    seconds = sum(manifest["seconds"] for manifest in manifests.values())
    text = [
        f"{len(manifests)} stages in {out}, written from {times[0]} to {times[-1]}: {seconds:,.0f} s, "
        f"{size / _MIB:,.1f} MiB."
    ]
    found = (make(manifests) for make in (_results, _sources, _yields, _sets, _skew, _costs, _lineage))
    return Page(f"Pipeline run {out}", text, [section for section in found if section is not None])


def _results(manifests: Mapping[str, Manifest]) -> Section | None:
    """Return Table 1, and the kept share of each interface."""
    facts = _facts(manifests, "table1")
    if not facts:
        return None
    rows = [
        [str(row["router"]), str(row["root"]), "all" if row["interface"] is None else str(row["interface"])]
        + [f"{row[name]:,}" for name in _TABLE_1]
        + [_share(row["kept"], row["descriptors"]), _share(row["kept"], row["announced"])]
        for row in facts["rows"]
    ]
    heads = ["router", "tree of", "interface", *_TABLE_1, "kept share", "of the announced"]
    kept = [
        {"interface": f"{row['router']} to {row['interface']}", "kept": row["kept"] / row["descriptors"]}
        for row in facts["interfaces"][:_MAX_BARS]
        if row["descriptors"]
    ]
    chart = Chart(
        "kept", "Share of descriptors kept, by interface", pa.Table.from_pylist(kept), "interface", "kept", "bars",
        y_title="share", description=f"The {len(kept)} interfaces with most descriptors.",
    )  # fmt: skip
    return Section("Tables", "tables", [], [Grid("Table 1", heads, rows)], [chart] if kept else [])


def _sources(manifests: Mapping[str, Manifest]) -> Section | None:
    """Return the rejected rows of each source, by reason."""
    rows: list[list[Cell | str]] = []
    for name, facts in _with_fact(manifests, "lines"):
        rejected = facts["rejected"]
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in rejected.items())
        total = sum(rejected.values())
        rows.append([name, f"{facts['lines']:,}", f"{total:,}", _share(total, facts["lines"]), Cell(reasons or "none")])
    heads = ["source", "lines", "rejected", "share", "reasons"]
    return Section("Sources", "sources", [], [Grid("Rejected rows", heads, rows)]) if rows else None


def _yields(manifests: Mapping[str, Manifest]) -> Section | None:
    """Return the descriptors derived from each trace."""
    rows = [
        [name, counts["unit"], *(_count(counts[key]) for key in ("read", "kept", "derived", "users", "tags"))]
        for name, facts in _with_fact(manifests, "yield")
        for counts in [facts["yield"]]
    ]
    heads = ["stage", "units", "read", "kept", "derived", "users", "tags"]
    return Section("Descriptors", "descriptors", [], [Grid("Derived from traces", heads, rows)]) if rows else None


def _sets(manifests: Mapping[str, Manifest]) -> Section | None:
    """Return the measures of traces, and those of as many users of the models fitted to them, or to other traces."""
    fits: dict[str, Manifest] = {
        f"{app} (held out)" if fit.get("held_out") else app: fit
        for stage in ("fit", "models")
        for app, fit in _facts(manifests, stage).get("fits", {}).items()
    }
    if not fits:
        return None
    measures = [
        [app, row["measure"].replace("_", " "), *(f"{row[key]:.4g}" for key in ("trace", "synthetic", "difference"))]
        for app, fit in fits.items()
        for row in fit["measures"]
    ]
    sizes = _pairs(fits, "sizes", "size", lambda fit, count: count / fit["sets"])
    growth = _pairs(fits, "vocabulary", "users", lambda _, count: count)
    tags = _pairs(fits, "user_tags", "assigned", lambda _, count: count)
    charts = [
        Chart(
            "set-sizes", "Share of sets by number of tags", sizes, "size", "value", "line", "which", "application",
            "tags of a set", "share", y_log=True,
        ),
        Chart(
            "vocabulary", "Different tags of the first users", growth, "users", "value", "line", "which", "application",
            "users", "tags", x_log=True, y_log=True,
        ),
        Chart(
            "user-tags", "Different tags of a user", tags, "assigned", "value", "line", "which", "application",
            "tags assigned", "tags", x_log=True, y_log=True,
        ),
    ]  # fmt: skip
    heads = ["application", "measure", "trace", "synthetic", "difference"]
    text = ["Users of the traces, and as many of the models that were fitted to them, or to the others if held out."]
    return Section("Sets and vocabulary", "sets", text, [Grid("Fit of the models", heads, measures)], charts)


def _pairs(
    fits: Mapping[str, Manifest], curve: str, x: str, value: Callable[[Manifest, int], float]
) -> pa.Table:  # fmt: skip
    """Return the points of a curve of all applications, of traces and models; zero has no logarithm."""
    return pa.Table.from_pylist(
        [
            {"application": app, "which": which, x: point[x], "value": float(value(fit, point[which]))}
            for app, fit in fits.items()
            for which in ("trace", "synthetic")
            for point in fit[curve]
            if point[which] and point[x]
        ]
    )


def _skew(manifests: Mapping[str, Manifest]) -> Section | None:
    """Return the distribution of the population over the nodes."""
    facts = _facts(manifests, "loads")
    if not facts:
        return None
    descriptors, largest = facts["descriptors"], facts["largest"]
    rows = [
        ["nodes", f"{facts['nodes']:,}"],
        ["nodes with descriptors", f"{facts['nodes_with_descriptors']:,}"],
        ["descriptors", f"{descriptors:,}"],
        ["tags of each, on average", f"{facts['tags'] / max(1, descriptors):.2f}"],
        [f"share of the largest node, {largest['node']}", _share(largest["descriptors"], descriptors)],
        ["share of the largest 1 % of nodes", _share(facts["hundredth"], descriptors)],
    ]
    return Section("Population", "population", [], [Grid("Spread over the nodes", ["measure", "value"], rows)])


def _costs(manifests: Mapping[str, Manifest]) -> Section:
    """Return seconds and resources of each stage."""
    rows = [
        [name, f"{manifest['rows']:,}", f"{manifest['bytes'] / _MIB:,.1f}", f"{manifest['seconds']:,.1f}"]
        + [_cost(manifest["cost"].get(key), unit) for key, _, unit in _COSTS]
        for name, manifest in manifests.items()
    ]
    heads = ["stage", "rows", "MiB", "seconds", *(head for _, head, _ in _COSTS)]
    seconds = pa.Table.from_pylist(
        [{"stage": name, "seconds": manifest["seconds"]} for name, manifest in manifests.items()]
    )
    chart = Chart("seconds", "Seconds by stage", seconds, "stage", "seconds", "bars")
    return Section("Costs", "costs", [], [Grid("Costs by stage", heads, rows)], [chart])


def _lineage(manifests: Mapping[str, Manifest]) -> Section:
    """Return the inputs of each result."""
    rows = [
        [
            Cell(name, note=manifest["snapshot"]),
            ", ".join(each for each in manifest["inputs"] if each != "files") or "–",
            "yes" if "files" in manifest["inputs"] else "no",
            Cell(", ".join(f"{key} = {value}" for key, value in manifest["parameters"].items()) or "–"),
            str(manifest["version"]),
            manifest["fingerprint"][:12],
            manifest["written"],
        ]
        for name, manifest in manifests.items()
    ]
    heads = ["stage", "needs", "reads files", "parameters", "version", "fingerprint", "written"]
    text = ["A result is reused as long as its fingerprint, which covers all of this, is unchanged."]
    return Section("Lineage", "lineage", text, [Grid("Stages", heads, rows)])


def _facts(manifests: Mapping[str, Manifest], stage: str) -> Mapping[str, Any]:
    facts: Mapping[str, Any] = manifests[stage]["facts"] if stage in manifests else {}
    return facts


def _with_fact(manifests: Mapping[str, Manifest], fact: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, manifest in manifests.items():
        if fact in manifest["facts"]:
            yield name, manifest["facts"]


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if whole else "–"


def _count(count: int | None) -> str:
    return "–" if count is None else f"{count:,}"


def _cost(value: float | None, unit: float) -> str:
    return "–" if value is None else f"{value / unit:,.0f}" if isinstance(value, int) else f"{value / unit:,.1f}"
