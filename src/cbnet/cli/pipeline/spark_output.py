"""Spark output: how do commands on Spark say what they would do, and what they did?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbnet.cli.console import counted, print_json, print_remark
from cbnet.cli.grids import add_cells, new_grid

if TYPE_CHECKING:
    from cbnet.pipeline.match.match_job import DryRun, Summary
    from cbnet.pipeline.match.match_stream import StreamSummary

_BECOMES = {
    "date": 'string, as "2024-05-01"',
    "time": 'string, as "2024-05-01T10:00:00.000000", UTC',
    "tags": "tags",
    "absent": "absent always",
}


def show_dry_run(found: DryRun, *, as_json: bool) -> None:
    """Print the schema mapping, and how large the table is."""
    if as_json:
        for mapped in found.columns:
            attribute = mapped.attribute
            row = {"column": ".".join(attribute.path), "type": attribute.type, "attribute": attribute.name}
            print_json({**row, "kind": attribute.kind, "asked": mapped.is_asked})
        print_json({"version": found.version, "table_bytes": found.table_bytes, "memory_share": found.memory_share})
        return
    from rich.console import Console

    grid = new_grid("", "column", "type in Spark", "attribute", "value", "asked for")
    for column in grid.columns:
        column.justify = "left"
    for mapped in found.columns:
        attribute = mapped.attribute
        becomes = _BECOMES.get(attribute.kind, attribute.kind)
        asked = "yes" if mapped.is_asked else "no"
        add_cells(grid, ".".join(attribute.path), attribute.type, attribute.name, becomes, asked)
    Console(highlight=False, markup=False).print(grid)
    print(f"table version {found.version}, {counted(found.table_bytes, 'byte')}")
    print(f"a host needs as much memory outside of Java; here there are {found.memory_share / 2**30:.1f} GiB")
    if found.table_bytes > found.memory_share:
        print_remark("warning: the tables are larger; match with one after the other")


def show_summary(summary: Summary, out: str | None, *, as_json: bool) -> None:
    """Print what a job did."""
    if as_json:
        print_json(summary.members())
        return
    print(f"{_counts(summary)}; {counted(summary.interfaces, 'interface')} reached")
    _print_rest(summary, summary.version)
    if out is not None:
        print_remark(f"written to {out}")


def show_stream(summary: StreamSummary, *, as_json: bool) -> None:
    """Print what a run of a stream did."""
    if as_json:
        print_json(summary.members())
        return
    print(f"{_counts(summary)}; {_plural(summary.batches, 'batch')}")
    if summary.source:
        counts = ", ".join(f"{name} {count:,}" for name, count in summary.source.items())
        print(f"of the network, over all runs: {counts}")
    _print_rest(summary, ", ".join(summary.versions) or "never asked")


def _counts(summary: Summary | StreamSummary) -> str:
    rejected = sum(summary.rejected.values())
    counts = ((summary.records, "record"), (summary.matches, "match"), (rejected, "rejected row"))
    return ", ".join(_plural(*count) for count in counts)


def _print_rest(summary: Summary | StreamSummary, version: str) -> None:
    for reason, count in sorted(summary.rejected.items(), key=lambda item: -item[1]):
        print(f"  rejected: {count:,} because {reason}")
    print(f"table {version}; {summary.records_per_second:,.0f} records a second")
    for step, seconds in summary.steps.items():
        print(f"  {step:<28} {seconds:8.1f} s")
    print(f"  {'in the kernel':<28} {summary.match_s:8.1f} s, of all workers; {summary.encode_s:.1f} s to read Arrow")


def _plural(count: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
