"""`cbnet spark stream`: where does each record go, as it comes?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import AsJson, counted, print_json, print_remark
from cbnet.cli.pipeline import spark_options as options
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.pipeline.match.match_stream import BatchReport


def stream(
    table: options.Tables,
    messages: Annotated[
        str,
        typer.Option(
            "--messages", help="The folder that new files come to; none for kafka and cbnet.", show_default=False
        ),
    ] = "",
    out: Annotated[str | None, typer.Option("--out", help="The folder to write to.", show_default=False)] = None,
    format: Annotated[
        str | None, typer.Option("--format", help="parquet, orc, json, csv, kafka or cbnet; else by the name.")
    ] = None,
    schema: options.Schema = None,
    option: options.Options = None,
    key: options.Keys = None,
    column: options.Columns = None,
    filters: options.Filters = False,
    buckets: options.Buckets = 4,
    checkpoint: Annotated[
        str | None, typer.Option("--checkpoint", help="What a restart needs; by default OUT/_checkpoint.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Match all that is there, and end.")] = False,
    every: Annotated[float, typer.Option("--every", min=0, help="Seconds from one batch to the next.")] = 0.0,
    master: options.Master = "local[*]",
    conf: options.Conf = None,
    dry_run: options.DryRun = False,
    json: AsJson = False,
) -> None:
    """Match records as they come, exactly once, until interrupted; a new table at its path is taken by the next batch.

    Start it again with the same --out to go on where it ended, however it ended.

    Example: cbnet spark stream --messages incoming --format json --table table.cbt --out routed
    """
    if out is None and not dry_run:
        raise InputError("where to?", hint="give a folder with --out, or look first with --dry-run")
    from cbnet.cli.pipeline.spark_output import show_dry_run, show_stream
    from cbnet.pipeline.match.match_stream import MatchStream, StreamJob
    from cbnet.pipeline.match.message_frames import ROUTER, WITHOUT_FILES, format_of
    from cbnet.pipeline.spark.session import borrowed_session

    chosen = format or format_of(messages)
    if not messages and chosen not in WITHOUT_FILES:
        raise InputError("messages from where?", hint="name a folder with --messages, or --format kafka or cbnet")
    if once and chosen == ROUTER:
        raise InputError("a live network never has all its messages there", hint="leave --once away, and end by Ctrl-C")
    options.check_tables(table)
    job = StreamJob(
        messages=messages,
        format=chosen,
        tables=table,
        schema=schema,
        options=options.pairs("--option", option),
        key=key,
        columns=column,
        filters=filters,
        buckets=buckets,
    )
    with borrowed_session("cbnet stream", master=master, conf=options.pairs("--conf", conf)) as spark:
        matching = MatchStream(
            spark,
            job,
            out or "",
            checkpoint=checkpoint,
            report=_print_json if json else _print,
            remark=print_remark,
        )
        if dry_run:
            show_dry_run(matching.dry_run(), as_json=json)
            return
        summary = matching.run(once=once, every=every)
    show_stream(summary, as_json=json)
    raise typer.Exit(2 if summary.rejected else 0)


def _print(report: BatchReport) -> None:
    rejected = sum(report.rejected.values())
    told = f", {counted(rejected, 'rejected row')}" if rejected else ""
    counts = f"{counted(report.records, 'record')}, {report.matches:,} matches{told}"
    print_remark(f"batch {report.batch}: {counts}, table {report.version}, {report.seconds:.1f} s")


def _print_json(report: BatchReport) -> None:
    from dataclasses import asdict

    print_json(asdict(report))
