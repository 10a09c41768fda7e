"""`cbnet spark`: match batches and streams of messages on Spark, on this machine or on a cluster."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from cbnet.cli.command_help import command_group
from cbnet.cli.console import new_grid, plural, print_json, print_note, results_console
from cbnet.cli.options import JSON, STRICT, argument, flag, option, output_option
from cbnet.cli.pipeline.spark_options import DRY_RUN, TABLES, MatchOptions, SessionOptions, check_output, check_tables
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.pipeline.match.match_job import DryRun as DryRunResult
    from cbnet.pipeline.match.match_job import JobSummary, MatchSummary
    from cbnet.pipeline.match.match_stream import BatchReport, StreamSummary

_BECOMES = {"time": "string 2024-05-01T10:00:00.000000000Z", "absent": "always absent", None: "not a value"}


def match(
    messages: list[str] = argument(..., "MESSAGES...", "Message files or folders."),
    rules: list[str] = TABLES,
    output: str | None = output_option(None, "Folder for the results."),
    format: str | None = option(
        None, "NAME", "parquet, orc, json, csv, or a preset such as flights.", shown="from the file name"
    ),
    *,
    options: MatchOptions,
    session: SessionOptions,
    strict: bool = STRICT,
    dry_run: bool = DRY_RUN,
    json: bool = JSON,
) -> None:
    """Match messages on Spark; write OUTPUT/matches by rule, and OUTPUT/counts.

    Messages that cannot be read or contain NaN are counted by reason; the exit code is then 2.

    Example: cbnet spark match trades.parquet --rules rules.cbt -o routed --select id
    """
    check_output(output, is_dry_run=dry_run)
    check_tables(rules)
    from cbnet.pipeline.match import match_job
    from cbnet.pipeline.match.message_dataframes import format_of

    chosen = format or format_of(messages[0])
    job = match_job.MatchJob(messages=messages, format=chosen, tables=rules, strict=strict, **options.members())
    with session.session("cbnet spark match") as lazy:
        if dry_run:
            _show_dry_run(match_job.dry_run(lazy.start(), job), as_json=json)
            return
        assert output is not None
        summary = match_job.run_match(lazy.start(), job, output, lambda warning: print_note(f"warning: {warning}"))
    _show_summary(summary, output, as_json=json)
    raise typer.Exit(2 if summary.rejected else 0)


def stream(
    rules: list[str] = TABLES,
    messages: str = argument("", "[MESSAGES]", "Folder where new message files appear; none for kafka and cbnet."),
    output: str | None = output_option(None, "Folder for the results."),
    format: str | None = option(None, "NAME", "parquet, orc, json, csv, kafka or cbnet.", shown="from the folder name"),
    *,
    options: MatchOptions,
    compact: int = option(0, "N", "Merge the files of N batches into those of one; 0: never.", least=0),
    checkpoint: str | None = option(None, "FOLDER", "Checkpoint for restarts.", shown="OUTPUT/_checkpoint"),
    once: bool = flag("Match the messages that exist now, and exit."),
    every: float = option(0.0, "S", "Batch interval, in seconds.", least=0),
    session: SessionOptions,
    strict: bool = STRICT,
    dry_run: bool = DRY_RUN,
    json: bool = JSON,
) -> None:
    """Match messages as they arrive, exactly once, until interrupted. A new table is used from the next batch on.

    Started again with the same --output, it continues where it stopped.

    Example: cbnet spark stream incoming --format json --rules rules.cbt -o routed
    """
    check_output(output, is_dry_run=dry_run)
    from cbnet.pipeline.match.match_stream import MatchStream, StreamJob
    from cbnet.pipeline.match.message_dataframes import ROUTER, STREAM_FORMATS, format_of

    chosen = format or format_of(messages)
    if not messages and chosen not in STREAM_FORMATS:
        raise InputError("no message source given", hint="give a folder, or --format kafka or cbnet")
    if once and chosen == ROUTER:
        hint = "leave --once out, and stop with Ctrl-C"
        raise InputError("--once cannot be used with a live network, which has no end", hint=hint)
    check_tables(rules)
    job = StreamJob(messages=messages, format=chosen, tables=rules, compact=compact, strict=strict, **options.members())
    with session.session("cbnet spark stream") as lazy:
        matching = MatchStream(
            lazy.start(),
            job,
            output or "",
            checkpoint=checkpoint,
            report=(lambda report: print_json(asdict(report))) if json else _print,
            remark=print_note,
        )
        if dry_run:
            _show_dry_run(matching.dry_run(), as_json=json)
            return
        summary = matching.run(once=once, every=every)
    _show_stream(summary, as_json=json)
    raise typer.Exit(2 if summary.rejected else 0)


spark = command_group(
    "Match batches and streams of messages on Spark, here or on a cluster.", match=match, stream=stream
)


def _print(report: BatchReport) -> None:
    rejected = sum(report.rejected.values())
    more = f", {plural(rejected, 'rejected row')}" if rejected else ""
    counts = f"{plural(report.records, 'record')}, {report.matches:,} matches{more}"
    print_note(f"batch {report.batch}: {counts}, table {report.version}, {report.seconds:.1f} s")


def _show_dry_run(result: DryRunResult, *, as_json: bool) -> None:
    """Print the attributes of messages, and the size of the table."""
    if as_json:
        for each in result.attributes:
            row = {"attribute": each.name, "type": each.type, "kind": each.kind, "several": each.is_several}
            print_json({**row, "used": each.is_used})
        size = {"table_bytes": result.table_bytes, "memory_share": result.memory_share}
        print_json({"version": result.version, **size, "warning": result.warning})
        return
    rows = []
    for each in result.attributes:
        becomes = ("several: " if each.is_several else "") + _BECOMES.get(each.kind, str(each.kind))
        rows.append((each.name, each.type, becomes, "yes" if each.is_used else "no"))
    heads = ("attribute", "type in Spark", "value", "in rules")
    results_console().print(new_grid("", *heads, rows=rows, text=heads))
    print(f"table version {result.version}, {plural(result.table_bytes, 'byte')}")
    print(f"each host needs this much memory outside Java's heap; this one has {result.memory_share / 2**30:.1f} GiB")
    if result.table_bytes > result.memory_share:
        print_note("warning: the tables do not fit; match with one after the other")
    if result.warning:
        print_note(f"warning: {result.warning}")


def _show_summary(summary: JobSummary, output: str | None, *, as_json: bool) -> None:
    """Print the summary of a job."""
    if as_json:
        print_json(summary.members())
        return
    print(f"{_counts(summary)}; {plural(summary.rules, 'rule')} matched")
    _print_rest(summary, summary.version)
    if output is not None:
        print_note(f"results: {output}")


def _show_stream(summary: StreamSummary, *, as_json: bool) -> None:
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
    # In less than a second of work, the rate would be that of Spark's own start.
    has_rate = summary.encode_s + summary.match_s >= 1
    print(f"table {version}" + (f"; {summary.records_per_second:,.0f} records per second" if has_rate else ""))
    for step, seconds in summary.steps.items():
        print(f"  {step:<28} {seconds:8.1f} s")
    print(f"  {'kernel, all workers':<28} {summary.match_s:8.1f} s; {summary.encode_s:.1f} s to read Arrow")
