"""`cbnet pipeline`: build the forwarding tables of a network from traces, on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbnet.cli.command_help import command_group
from cbnet.cli.console import print_json, print_note
from cbnet.cli.options import JSON, argument, flag, option, output_option
from cbnet.cli.pipeline.spark_options import SessionOptions
from cbnet.errors import InputError
from cbnet.files import unwritable

if TYPE_CHECKING:
    from cbnet.pipeline.run.configuration import Config
    from cbnet.pipeline.run.plan import Decision, Selection
    from cbnet.pipeline.spark.session import LazySession
_NAME = "cbnet pipeline"  # of sessions

FILE = argument(..., "CONFIG.toml", "Pipeline configuration.")
OUTPUT = output_option(None, "Folder for the results, instead of the configuration's.")


def run(
    config: Path = FILE,
    start: list[str] | None = option(
        None, "STAGE", "Run this stage and all that depend on it, even if they are done; repeatable.", name="--from"
    ),
    only: list[str] | None = option(None, "STAGE", "Run no other stage; repeatable."),
    force: bool = flag("Run also stages that are done."),
    plan: bool = flag("Show which stages would run and why, and run none."),
    *,
    session: SessionOptions,
    output: str | None = OUTPUT,
    json: bool = JSON,
) -> None:
    """Run the stages that are not done yet, and compare Table 1 with the paper's.

    Example: cbnet pipeline run pipeline.toml --master local[2] --conf spark.driver.memory=4g
    """
    from cbnet.cli.pipeline.run_output import print_results, print_stage, show_outcomes, stage_line
    from cbnet.pipeline.run.configuration import read_config
    from cbnet.pipeline.run.plan import Selection
    from cbnet.pipeline.run.runner import run as run_stages

    configuration = read_config(config, out=output)
    selection = Selection(start or (), only or (), force)
    outcomes = []
    with session.session(_NAME, classic=True) as lazy:
        if plan:
            _show_plan(configuration, lazy, selection, json)
            return
        for outcome in run_stages(configuration, lazy.start, _print_begin, selection):
            outcomes.append(outcome)
            if json:
                print_stage(outcome)
            elif outcome.is_new:
                print_note(stage_line(outcome))
    if json:
        print_results(outcomes)
    else:
        show_outcomes(configuration.out, outcomes)


def _print_begin(decision: Decision) -> None:
    reason = f" ({decision.reason})" if decision.status.reason else ""
    print_note(f"{decision.name}{reason} …")


def _show_plan(configuration: Config, session: LazySession, selection: Selection, json: bool) -> None:
    from cbnet.cli.pipeline.plan_output import print_plan, show_plan
    from cbnet.pipeline.run.plan import decide, states

    decisions = decide([*states(configuration, _needed(session, configuration))], selection)
    if json:
        print_plan(decisions)
    else:
        show_plan(configuration.out, decisions)


def _needed(session: LazySession, configuration: Config) -> Any:
    """Return a session if a file of a run is remote, else None."""
    from cbnet.pipeline.run.plan import needs_spark

    return session.start() if needs_spark(configuration) else None


def init(file: Path = argument(Path("pipeline.toml"), "FILE", "File to write.")) -> None:
    """Write a commented configuration that runs as it is."""
    from importlib.resources import files

    template = files("cbnet.pipeline.run").joinpath("pipeline.toml").read_text(encoding="utf-8")
    try:
        with file.open("x", encoding="utf-8") as written:
            written.write(template)
    except FileExistsError:
        raise InputError("the file exists already", hint="give another name", file=str(file)) from None
    except OSError as error:
        raise unwritable(file, error) from None
    print_note(f"{file}: run it with `cbnet pipeline run {file}`")


def status(config: Path = FILE, *, session: SessionOptions, output: str | None = OUTPUT, json: bool = JSON) -> None:
    """Show the state of each stage: done, stale (parameters or inputs changed), damaged (files are lost) or missing."""
    from cbnet.cli.pipeline.plan_output import show_leftovers, show_states, state_members
    from cbnet.pipeline.run.configuration import read_config
    from cbnet.pipeline.run.leftovers import leftovers
    from cbnet.pipeline.run.plan import states
    from cbnet.pipeline.spark.lock import lock_holder

    plan = read_config(config, out=output)
    with session.session(_NAME, classic=True) as lazy:
        spark = _needed(lazy, plan)
        rows, holder = [*states(plan, spark)], lock_holder(spark, plan.out)
        sizes = leftovers(plan, spark) if holder is None or holder.has_ended else {}
    if json:
        for each in rows:
            print_json(state_members(each))
        for name, size in sizes.items():
            print_json({"leftover": name, "bytes": size})
        return
    show_states(plan.out, rows)
    show_leftovers(plan.out, sizes)
    if holder is not None:
        print_note(f"locked by {holder}{', which has ended' if holder.has_ended else ''}")


def clean(config: Path = FILE, *, session: SessionOptions, output: str | None = OUTPUT, json: bool = JSON) -> None:
    """Delete what a killed run has left, and results of stages that the configuration no longer has.

    `cbnet pipeline status` names them. Files that no run has written are not touched.
    """
    from cbnet.cli.pipeline.plan_output import show_leftovers
    from cbnet.pipeline.run.configuration import read_config
    from cbnet.pipeline.run.leftovers import clean as delete_leftovers

    plan = read_config(config, out=output)
    with session.session(_NAME, classic=True) as lazy:
        sizes = delete_leftovers(plan, _needed(lazy, plan))
    if json:
        for name, size in sizes.items():
            print_json({"deleted": name, "bytes": size})
    else:
        show_leftovers(plan.out, sizes, deleted=True)
        if not sizes:
            print_note(f"{plan.out}: nothing to delete")


def table(
    config: Path = FILE,
    router: str = argument(..., "ROUTER", "Name of the router."),
    file: str = output_option(..., "Table file to write: a path or a URI.", "TABLE"),
    tree: int | None = option(None, "N", "Number of the tree.", shown="all, folded", least=1),
    results: str | None = option(None, "FOLDER", "Folder of the results.", shown="the configuration's"),
    *,
    session: SessionOptions,
    json: bool = JSON,
) -> None:
    """Extract the table of one router from the stored tables of all, as a compiled table.

    Example: cbnet pipeline table pipeline.toml 7018 --output 7018.cbt
    """
    from cbnet.pipeline.run.configuration import read_config
    from cbnet.pipeline.run.table_extraction import extract_table

    plan = read_config(config, out=results)
    with session.session(_NAME, classic=True) as lazy:
        sizes = extract_table(lazy.start(), plan, router, file, tree)
    for path, size in sizes.items():
        if json:
            print_json({"router": router, "tree": tree, "file": path, "bytes": size})
        else:
            print(f"{path}: {size:,} bytes")


pipeline = command_group(
    "Build the forwarding tables of a network from traces, on Spark.",
    run=run,
    init=init,
    status=status,
    clean=clean,
    table=table,
)
