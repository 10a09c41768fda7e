"""`cbnet spark stream`: match a stream of messages on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import plural, print_json, print_note
from cbnet.cli.options import Json, output_option
from cbnet.cli.pipeline import spark_options as options
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.pipeline.match.match_stream import BatchReport


def stream(
    rules: options.Tables,
    messages: Annotated[
        str,
        typer.Argument(
            metavar="[MESSAGES]",
            help="Folder where new message files appear; none for kafka and cbnet.",
            show_default=False,
        ),
    ] = "",
    output: Annotated[str | None, output_option("Folder for the results.")] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="parquet, orc, json, csv, kafka or cbnet.",
            show_default="from the folder name",
        ),
    ] = None,
    schema: options.Schema = None,
    option: options.Options = None,
    select: options.Select = None,
    column: options.Columns = None,
    filters: options.Filters = False,
    buckets: options.Buckets = None,
    on_error: options.OnError = options.ErrorPolicy.COLUMN,
    compact: Annotated[
        int,
        typer.Option("--compact", metavar="N", min=0, help="Merge the files of N batches into those of one; 0: never."),
    ] = 0,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint", metavar="FOLDER", help="Checkpoint for restarts.", show_default="OUTPUT/_checkpoint"
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Match the messages that exist now, and exit.")] = False,
    every: Annotated[float, typer.Option("--every", metavar="S", min=0, help="Batch interval, in seconds.")] = 0.0,
    master: options.Master = None,
    remote: options.Remote = None,
    conf: options.Conf = None,
    dry_run: options.DryRun = False,
    json: Json = False,
) -> None:
    """Match messages as they arrive, exactly once, until interrupted. A new table is used from the next batch on.

    Started again with the same --output, it continues where it stopped.

    Example: cbnet spark stream incoming --format json --rules rules.cbt -o routed
    """
    options.check_output(output, is_dry_run=dry_run)
    from cbnet.cli.pipeline.spark_output import show_dry_run, show_stream
    from cbnet.pipeline.match.match_stream import MatchStream, StreamJob
    from cbnet.pipeline.match.message_dataframes import ROUTER, STREAM_FORMATS, format_of
    from cbnet.pipeline.match.stored_matches import STREAM_BUCKETS
    from cbnet.pipeline.spark.session import borrowed_session

    chosen = format or format_of(messages)
    if not messages and chosen not in STREAM_FORMATS:
        raise InputError("no message source given", hint="give a folder, or --format kafka or cbnet")
    if once and chosen == ROUTER:
        raise InputError(
            "--once cannot be used with a live network, which has no end", hint="leave --once out, and stop with Ctrl-C"
        )
    options.check_tables(rules)
    job = StreamJob(
        messages=messages,
        format=chosen,
        tables=rules,
        schema=schema,
        options=options.key_values("--option", option),
        key=select,
        columns=column,
        filters=filters,
        buckets=STREAM_BUCKETS if buckets is None else buckets,
        on_error=on_error.value,
        compact=compact,
    )
    settings = options.settings(conf)
    with borrowed_session("cbnet spark stream", master=master, remote=remote, conf=settings) as spark:
        matching = MatchStream(
            spark,
            job,
            output or "",
            checkpoint=checkpoint,
            report=_print_json if json else _print,
            remark=print_note,
        )
        if dry_run:
            show_dry_run(matching.dry_run(), as_json=json)
            return
        summary = matching.run(once=once, every=every)
    show_stream(summary, as_json=json)
    raise typer.Exit(2 if summary.rejected else 0)


def _print(report: BatchReport) -> None:
    rejected = sum(report.rejected.values())
    more = f", {plural(rejected, 'rejected row')}" if rejected else ""
    counts = f"{plural(report.records, 'record')}, {report.matches:,} matches{more}"
    print_note(f"batch {report.batch}: {counts}, table {report.version}, {report.seconds:.1f} s")


def _print_json(report: BatchReport) -> None:
    from dataclasses import asdict

    print_json(asdict(report))
