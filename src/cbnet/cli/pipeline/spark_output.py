"""Output of the commands on Spark: column mappings and summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbnet.cli.console import add_cells, new_grid, plural, print_json, print_note

if TYPE_CHECKING:
    from cbnet.pipeline.match.match_job import DryRun, JobSummary, MatchSummary
    from cbnet.pipeline.match.match_stream import StreamSummary

_BECOMES = {"time": "string 2024-05-01T10:00:00.000000000Z", "absent": "always absent", None: "not a value"}


def show_dry_run(result: DryRun, *, as_json: bool) -> None:
    """Print the attributes of messages, and the size of the table."""
    if as_json:
        for each in result.attributes:
            row = {"attribute": each.name, "type": each.type, "kind": each.kind, "several": each.is_several}
            print_json({**row, "used": each.is_used})
        size = {"table_bytes": result.table_bytes, "memory_share": result.memory_share}
        print_json({"version": result.version, **size, "warning": result.warning})
        return
    from rich.console import Console

    grid = new_grid("", "attribute", "type in Spark", "value", "in rules")
    for column in grid.columns:
        column.justify = "left"
    for each in result.attributes:
        becomes = ("several: " if each.is_several else "") + _BECOMES.get(each.kind, str(each.kind))
        add_cells(grid, each.name, each.type, becomes, "yes" if each.is_used else "no")
    Console(highlight=False, markup=False).print(grid)
    print(f"table version {result.version}, {plural(result.table_bytes, 'byte')}")
    print(f"each host needs this much memory outside Java's heap; this one has {result.memory_share / 2**30:.1f} GiB")
    if result.table_bytes > result.memory_share:
        print_note("warning: the tables do not fit; match with one after the other")
    if result.warning:
        print_note(f"warning: {result.warning}")


def show_summary(summary: JobSummary, output: str | None, *, as_json: bool) -> None:
    """Print the summary of a job."""
    if summary.warning:
        print_note(f"warning: {summary.warning}")
    if as_json:
        print_json(summary.members())
        return
    print(f"{_counts(summary)}; {plural(summary.rules, 'rule')} matched")
    _print_rest(summary, summary.version)
    if output is not None:
        print_note(f"results: {output}")


def show_stream(summary: StreamSummary, *, as_json: bool) -> None:
    """Print the summary of a stream."""
    if as_json:
        print_json(summary.members())
        return
    print(f"{_counts(summary)}; {plural(summary.batches, 'batch')}")
    if summary.source:
        counts = ", ".join(f"{name} {count:,}" for name, count in summary.source.items())
        print(f"network, over all runs: {counts}")
    _print_rest(summary, ", ".join(summary.versions) or "not used")


def _counts(summary: MatchSummary) -> str:
    rejected = sum(summary.rejected.values())
    counts = ((summary.records, "record"), (summary.matches, "match"), (rejected, "rejected row"))
    return ", ".join(plural(*count) for count in counts)


def _print_rest(summary: MatchSummary, version: str) -> None:
    for reason, count in sorted(summary.rejected.items(), key=lambda item: -item[1]):
        print(f"  rejected: {count:,}: {reason}")
    print(f"table {version}; {summary.records_per_second:,.0f} records per second")
    for step, seconds in summary.steps.items():
        print(f"  {step:<28} {seconds:8.1f} s")
    print(f"  {'kernel, all workers':<28} {summary.match_s:8.1f} s; {summary.encode_s:.1f} s to read Arrow")
