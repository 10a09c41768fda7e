"""`cbnet spark match`: match the messages of files on Spark."""

from __future__ import annotations

from typing import Annotated

import typer

from cbnet.cli.options import Json, output_option
from cbnet.cli.pipeline import spark_options as options


def match(
    messages: Annotated[
        list[str], typer.Argument(metavar="MESSAGES...", help="Message files or folders.", show_default=False)
    ],
    rules: options.Tables,
    output: Annotated[str | None, output_option("Folder for the results.")] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="parquet, orc, json, csv, or a preset such as flights.",
            show_default="from the file name",
        ),
    ] = None,
    schema: options.Schema = None,
    option: options.Options = None,
    select: options.Select = None,
    column: options.Columns = None,
    filters: options.Filters = False,
    buckets: options.Buckets = None,
    on_error: options.OnError = options.ErrorPolicy.COLUMN,
    master: options.Master = None,
    remote: options.Remote = None,
    conf: options.Conf = None,
    dry_run: options.DryRun = False,
    json: Json = False,
) -> None:
    """Match messages on Spark; write OUTPUT/matches by rule, and OUTPUT/counts.

    Messages that cannot be read or contain NaN are counted by reason; the exit code is then 2.

    Example: cbnet spark match trades.parquet --rules rules.cbt -o routed --select id
    """
    options.check_output(output, is_dry_run=dry_run)
    options.check_tables(rules)
    from cbnet.cli.pipeline.spark_output import show_dry_run, show_summary
    from cbnet.pipeline.match import match_job
    from cbnet.pipeline.match.message_dataframes import format_of
    from cbnet.pipeline.match.stored_matches import JOB_BUCKETS
    from cbnet.pipeline.spark.session import borrowed_session

    job = match_job.MatchJob(
        messages=messages,
        format=format or format_of(messages[0]),
        tables=rules,
        schema=schema,
        options=options.key_values("--option", option),
        key=select,
        columns=column,
        filters=filters,
        buckets=JOB_BUCKETS if buckets is None else buckets,
        on_error=on_error.value,
    )
    settings = options.settings(conf)
    with borrowed_session("cbnet spark match", master=master, remote=remote, conf=settings) as spark:
        if dry_run:
            show_dry_run(match_job.dry_run(spark, job), as_json=json)
            return
        assert output is not None
        summary = match_job.run_match(spark, job, output)
    show_summary(summary, output, as_json=json)
    raise typer.Exit(2 if summary.rejected else 0)
