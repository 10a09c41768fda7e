"""Charts of experiments, declared as data.

A definition names a table of the experiment, or rows that its module computes, and shapes them in this order:

    where     keeps rows:                 {case = "I = F"}, or one of several values: {method = ["counting", "pivot"]}
    without   drops rows:                 {case = "I = F"}
    divide    adds a quotient:            {ms = ["us", 1000], each = ["bytes", "constraints"]}
    labels    adds a text:                {of = "A = {names:,}, {method}"}
    melt      makes a row per column:     {value = "load", label = "of", columns = {largest = "the busiest link"}}
    median    makes a row per point with the median of y, and its interval as `low` and `high`

The other members are those of `Chart`; `log` names the logarithmic axes, such as "xy". The title is a template over the
first row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cbnet_lab.experiments.curves import Row, as_table, summary
from cbnet_lab.experiments.templates import render
from cbnet_lab.report.chart import Chart, PublishedValue

_SHAPING = ("table", "where", "without", "divide", "labels", "melt", "median", "log", "title", "references")


def declared_chart(declared: Mapping[str, Any], sources: Mapping[str, Any]) -> Chart | None:
    """Return a declared chart, or None if it has no rows; sources: the rows of each table or chart.

    Computed rows may come with members of the chart: {"rows": [...], "references": [...]}.
    """
    source = sources[declared.get("table", declared["name"])]
    more = {} if isinstance(source, list) else dict(source)
    rows = _shaped(declared, more.pop("rows", source))
    if not rows:
        return None
    own = {name: value for name, value in declared.items() if name not in _SHAPING}
    own |= {"bands": tuple(map(tuple, own.get("bands", ())))}
    own |= {"published": tuple(PublishedValue(**each) for each in own.get("published", ()))}
    own |= {f"{axis}_log": axis in declared.get("log", "") for axis in "xy"}
    own |= {"title": render(declared["title"], rows[0])}
    own |= {"references": tuple(map(tuple, declared.get("references", ())))} | more
    table = as_table(rows)
    if declared.get("median"):
        own |= {"bands": (("low", "high"),)}
        by = [own[name] for name in ("facet", "series", "x") if own.get(name)]
        table = summary(rows, *by, value=own["y"])
    return Chart(table=table, **own)


def _shaped(declared: Mapping[str, Any], rows: Sequence[Row]) -> list[Row]:
    where = {name: _listed(values) for name, values in declared.get("where", {}).items()}
    without = {name: _listed(values) for name, values in declared.get("without", {}).items()}
    kept = [
        dict(row)
        for row in rows
        if all(row[name] in values for name, values in where.items())
        and not any(row[name] in values for name, values in without.items())
    ]
    for row in kept:
        for name, (column, divisor) in declared.get("divide", {}).items():
            row[name] = row[column] / (row[divisor] if isinstance(divisor, str) else divisor)
        row |= {name: render(template, row) for name, template in declared.get("labels", {}).items()}
    melt = declared.get("melt")
    if melt is None:
        return kept
    return [
        {**row, melt["label"]: text, melt["value"]: row[column]}
        for row in kept
        for column, text in melt["columns"].items()
        if row.get(column) is not None
    ]


def _listed(values: Any) -> Sequence[Any]:
    return values if isinstance(values, list) else [values]
