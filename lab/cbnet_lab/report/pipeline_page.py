"""The page of a pipeline run: results, quality of the data, costs and lineage, from the manifests of its stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from cbnet_lab.report.chart import Chart
from cbnet_lab.report.page import Page, Section, rows_grid

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
# Name and title of a chart, its curve in the facts of a fit, its x, and the titles of the axes.
_CURVES = (
    ("set-sizes", "Share of sets by number of tags", "sizes", "size", "tags of a set", "share"),
    ("vocabulary", "Different tags of the first users", "vocabulary", "users", "users", "tags"),
    ("user-tags", "Different tags of a user", "user_tags", "assigned", "tags assigned", "tags"),
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
        {"router": str(row["router"]), "tree of": str(row["root"])}
        | {"interface": "all" if row["interface"] is None else str(row["interface"])}
        | {name: row[name] for name in _TABLE_1}
        | {"kept share": _share(row["kept"], row["descriptors"])}
        | {"of the announced": _share(row["kept"], row["announced"])}
        for row in facts["rows"]
    ]
    kept = [
        {"interface": f"{row['router']} to {row['interface']}", "kept": row["kept"] / row["descriptors"]}
        for row in facts["interfaces"][:_MAX_BARS]
        if row["descriptors"]
    ]
    chart = Chart(
        "kept", "Share of descriptors kept, by interface", pa.Table.from_pylist(kept), "interface", "kept", "bars",
        y_title="share", description=f"The {len(kept)} interfaces with most descriptors.",
    )  # fmt: skip
    return Section("Tables", "tables", [], [rows_grid(rows, "Table 1")], [chart] if kept else [])


def _sources(manifests: Mapping[str, Manifest]) -> Section | None:
    """Return the rejected rows of each source, by reason."""
    rows = []
    for name, facts in _with_fact(manifests, "lines"):
        lines, total = facts["lines"], sum(facts["rejected"].values())
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in facts["rejected"].items())
        rows.append({"source": name, "lines": lines, "rejected": total, "share": _share(total, lines)})
        rows[-1] |= {"reasons": reasons or "none"}
    return Section("Sources", "sources", [], [rows_grid(rows, "Rejected rows")]) if rows else None


def _yields(manifests: Mapping[str, Manifest]) -> Section | None:
    """Return the descriptors derived from each trace."""
    rows = [
        {"stage": name, "units": facts["yield"]["unit"]}
        | {key: facts["yield"][key] for key in ("read", "kept", "derived", "users", "tags")}
        for name, facts in _with_fact(manifests, "yield")
    ]
    return Section("Descriptors", "descriptors", [], [rows_grid(rows, "Derived from traces")]) if rows else None


def _sets(manifests: Mapping[str, Manifest]) -> Section | None:
    """Return the measures of traces, and of as many users drawn from models fitted to them or to other traces."""
    fits: dict[str, Manifest] = {
        f"{app} (held out)" if fit.get("held_out") else app: fit
        for stage in ("fit", "models")
        for app, fit in _facts(manifests, stage).get("fits", {}).items()
    }
    if not fits:
        return None
    measures = [
        {"application": app, "measure": row["measure"].replace("_", " ")}
        | {key: f"{row[key]:.4g}" for key in ("trace", "synthetic", "difference")}
        for app, fit in fits.items()
        for row in fit["measures"]
    ]
    charts = [
        Chart(
            name, title, _points(fits, curve, x), x, "value", "line", "which", "application", x_title, y_title,
            x_log=curve != "sizes", y_log=True,
        )
        for name, title, curve, x, x_title, y_title in _CURVES
    ]  # fmt: skip
    text = ["Users of the traces, and as many of the models that were fitted to them, or to the others if held out."]
    return Section("Sets and vocabulary", "sets", text, [rows_grid(measures, "Fit of the models")], charts)


def _points(fits: Mapping[str, Manifest], curve: str, x: str) -> pa.Table:
    """Return the points of a curve of all applications, of traces and models; zero has no logarithm."""
    return pa.Table.from_pylist(
        [
            {"application": app, "which": which, x: point[x]}
            | {"value": point[which] / (fit["sets"] if curve == "sizes" else 1.0)}
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
    measures = {
        "nodes": facts["nodes"],
        "nodes with descriptors": facts["nodes_with_descriptors"],
        "descriptors": descriptors,
        "tags of each, on average": f"{facts['tags'] / max(1, descriptors):.2f}",
        f"share of the largest node, {largest['node']}": _share(largest["descriptors"], descriptors),
        "share of the largest 1 % of nodes": _share(facts["hundredth"], descriptors),
    }
    rows = [{"measure": name, "value": value} for name, value in measures.items()]
    return Section("Population", "population", [], [rows_grid(rows, "Spread over the nodes")])


def _costs(manifests: Mapping[str, Manifest]) -> Section:
    """Return seconds and resources of each stage."""
    rows = [
        {"stage": name, "rows": manifest["rows"], "MiB": _cost(float(manifest["bytes"]), _MIB)}
        | {"seconds": _cost(manifest["seconds"], 1)}
        | {head: _cost(manifest["cost"].get(key), unit) for key, head, unit in _COSTS}
        for name, manifest in manifests.items()
    ]
    seconds = pa.Table.from_pylist(
        [{"stage": name, "seconds": manifest["seconds"]} for name, manifest in manifests.items()]
    )
    chart = Chart("seconds", "Seconds by stage", seconds, "stage", "seconds", "bars")
    return Section("Costs", "costs", [], [rows_grid(rows, "Costs by stage")], [chart])


def _lineage(manifests: Mapping[str, Manifest]) -> Section:
    """Return the inputs of each result."""
    rows = [
        {
            "stage": name,
            "needs": ", ".join(each for each in manifest["inputs"] if each != "files") or None,
            "reads files": "files" in manifest["inputs"],
            "parameters": ", ".join(f"{key} = {value}" for key, value in manifest["parameters"].items()) or None,
            "version": manifest["version"],
            "fingerprint": manifest["fingerprint"][:12],
            "written": manifest["written"],
        }
        for name, manifest in manifests.items()
    ]
    text = ["A result is reused as long as its fingerprint, which covers all of this, is unchanged."]
    return Section("Lineage", "lineage", text, [rows_grid(rows, "Stages")])


def _facts(manifests: Mapping[str, Manifest], stage: str) -> Mapping[str, Any]:
    facts: Mapping[str, Any] = manifests[stage]["facts"] if stage in manifests else {}
    return facts


def _with_fact(manifests: Mapping[str, Manifest], fact: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, manifest in manifests.items():
        if fact in manifest["facts"]:
            yield name, manifest["facts"]


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if whole else "–"


def _cost(value: float | None, unit: float) -> str | None:
    return None if value is None else f"{value / unit:,.0f}" if isinstance(value, int) else f"{value / unit:,.1f}"
