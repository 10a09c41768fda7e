"""`cbnet spark match`: where does each record of files of any size go?"""

from __future__ import annotations

from typing import Annotated

import typer

from cbnet.cli.console import AsJson
from cbnet.cli.pipeline import spark_options as options
from cbnet.errors import InputError


def match(
    messages: Annotated[
        list[str], typer.Option("--messages", help="Files or folders; repeat it for more.", show_default=False)
    ],
    table: options.Tables,
    out: Annotated[str | None, typer.Option("--out", help="The folder to write to.", show_default=False)] = None,
    format: Annotated[
        str | None,
        typer.Option("--format", help="parquet, orc, json, csv, or a preset such as flights; else by the name."),
    ] = None,
    schema: options.Schema = None,
    option: options.Options = None,
    key: options.Keys = None,
    column: options.Columns = None,
    filters: options.Filters = False,
    buckets: options.Buckets = 16,
    master: options.Master = "local[*]",
    conf: options.Conf = None,
    dry_run: options.DryRun = False,
    json: AsJson = False,
) -> None:
    """Match records by Spark; write OUT/matches by interface, and OUT/counts.

    A record that cannot be read, or holds NaN, is counted by its reason and goes nowhere; the exit code is then 2.

    Example: cbnet spark match --messages trades.parquet --table table.cbt --out routed --key id
    """
    if out is None and not dry_run:
        raise InputError("where to?", hint="give a folder with --out, or look first with --dry-run")
    options.check_tables(table)
    from cbnet.cli.pipeline.spark_output import show_dry_run, show_summary
    from cbnet.pipeline.match import match_job
    from cbnet.pipeline.match.message_frames import format_of
    from cbnet.pipeline.spark.session import borrowed_session

    job = match_job.MatchJob(
        messages=messages,
        format=format or format_of(messages[0]),
        tables=table,
        schema=schema,
        options=options.pairs("--option", option),
        key=key,
        columns=column,
        filters=filters,
        buckets=buckets,
    )
    with borrowed_session("cbnet match", master=master, conf=options.pairs("--conf", conf)) as spark:
        if dry_run:
            show_dry_run(match_job.dry_run(spark, job), as_json=json)
            return
        assert out is not None
        summary = match_job.run_match(spark, job, out)
    show_summary(summary, out, as_json=json)
    raise typer.Exit(2 if summary.rejected else 0)
