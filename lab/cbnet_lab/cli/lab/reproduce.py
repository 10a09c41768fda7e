"""`cbnet lab reproduce`: run the figures and tables of the papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import StepReport, plural, print_json, results_console, step_progress
from cbnet.cli.options import JSON, argument, flag, option
from cbnet.errors import CbnetError, InputError
from cbnet_lab.bench.plan_options import MASTER, REMOTE, seed
from cbnet_lab.bench.result_table import Cell, ResultTable
from cbnet_lab.cli.bench.plan_command import print_results
from cbnet_lab.experiments.experiment import Scale

if TYPE_CHECKING:
    from cbnet_lab.experiments.claim import Finding
    from cbnet_lab.experiments.experiment import Experiment
    from cbnet_lab.experiments.reproduce import ExperimentOutcome

_MARKS = {"holds": "green", "differs": "yellow", "fails": "red", "unmeasured": "magenta", "open": "dim"}


# Spark's default of 200 shuffle partitions is too many for little data.
_SPARK: dict[Scale, dict[str, str]] = {
    "quick": {"spark.sql.shuffle.partitions": "4"},
    "full": {"spark.sql.shuffle.partitions": "16"},
    "paper": {},
}


@dataclass(frozen=True)
class ReproductionPlan:
    """The options of `cbnet lab reproduce`."""

    names: tuple[str, ...] = argument((), "", "Experiments, or papers such as 2014; all by default.", shown=False)
    scale: Scale = option("quick", "", "quick takes minutes, full about an hour; paper uses the papers' ranges.")
    output: Path | None = option(
        None, "FOLDER", "Folder for tables, charts and pages.", name="--output -o", shown=False
    )
    topology: Path | None = option(
        None, "GRAPH", "Graph of the Internet.", name="--topology -t", shown="a generated graph"
    )
    traces: Path | None = option(None, "FOLDER", "User traces.", shown="models")
    seed: int = seed()
    master: str | None = option(None, "URL", MASTER, shown="of spark-submit or spark-defaults.conf, else local[*]")
    remote: str | None = option(None, "URL", REMOTE, shown="SPARK_REMOTE")
    is_listed: bool = flag("List the experiments and exit.", name="--list")


def reproduce(plan: ReproductionPlan, as_json: bool = JSON) -> None:
    """Run the experiments of the papers, check each claim, and write a report.

    Example: cbnet lab reproduce 2014 --scale quick -o results
    """
    from cbnet_lab.experiments.experiment import select_experiments

    experiments = select_experiments(plan.names)
    if plan.is_listed:
        _print_list(experiments, as_json=as_json)
        return
    output = plan.output
    if output is None:
        raise InputError("no output folder given", hint="give --output FOLDER")
    from cbnet_lab.experiments.reproduce import stored_outcomes

    outcomes = []
    for outcome in _outcomes(plan, experiments, output):
        outcomes.append(outcome)
        _print_outcome(outcome, as_json=as_json)
    findings = _write(stored_outcomes(output, outcomes), output)
    if not as_json:
        _print_summary(findings, output)
    failed = [outcome.experiment.name for outcome in outcomes if outcome.error is not None]
    if failed:
        raise CbnetError(f"{plural(len(failed), 'experiment')} could not be run: {', '.join(failed)}")


def _outcomes(plan: ReproductionPlan, experiments: Sequence[Experiment], output: Path) -> Iterator[ExperimentOutcome]:
    """Yield the outcome of each experiment; show its progress until then."""
    from cbnet_lab.experiments.experiment import ExperimentContext
    from cbnet_lab.experiments.reproduce import reproduce as run_all

    report: StepReport

    def show(done: int, total: int, what: str) -> None:
        report(f"{what} ({done:,} of {total:,})")

    with _spark(plan) as spark:
        context = ExperimentContext(plan.seed, plan.topology, plan.traces, progress=show, spark=spark)
        running = run_all(experiments, plan.scale, output, context)
        for _ in experiments:
            with step_progress() as report:
                outcome = next(running)
            yield outcome


@contextmanager
def _spark(plan: ReproductionPlan) -> Iterator[Callable[[], Any]]:
    """Yield a function that returns the Spark session, which starts at the first call."""
    with ExitStack() as stack:

        @cache
        def start() -> Any:
            from cbnet.pipeline.spark.session import LazySession

            session = LazySession(
                "cbnet lab reproduce", master=plan.master, remote=plan.remote, conf=_SPARK[plan.scale], progress=False,
                classic=True,
            )  # fmt: skip
            return stack.enter_context(session).start()

        yield start


def _write(outcomes: Sequence[ExperimentOutcome], output: Path) -> list[Finding]:
    """Write the pages and the findings, and return the findings."""
    import json

    from cbnet_lab.experiments.claim import claims
    from cbnet_lab.experiments.page import all_findings, write_pages

    findings = all_findings(outcomes)
    stated = ("number", "paper", "section", "statement", "value", "method")
    rows = [{name: getattr(claims()[each.claim], name) for name in stated} | asdict(each) for each in findings]
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    (output / "claims.jsonl").write_text("".join(lines), encoding="utf-8")
    write_pages(outcomes, output)
    return findings


def print_findings(findings: Sequence[Finding], title: str = "") -> None:
    """Print a line for each finding."""
    from rich.markup import escape

    if title:
        results_console().print(f"[bold]{escape(title)}[/]")
    for finding in findings:
        mark = f"[{_MARKS[finding.verdict]}]{finding.label}[/]"
        reason = f" [dim]({escape(finding.reason)})[/]" if finding.reason else ""
        results_console().print(f"  {finding.claim:>2} {mark}: {escape(finding.ours)}{reason}", soft_wrap=True)


def _print_outcome(outcome: ExperimentOutcome, *, as_json: bool) -> None:
    if as_json:
        for finding in outcome.findings:
            print_json({"experiment": outcome.experiment.name, **asdict(finding)})
        return
    from rich.markup import escape

    console = results_console()
    took = "stored" if outcome.reused else f"{outcome.manifest.get('seconds', 0):,} s"
    what = f"[red]{escape(outcome.error)}[/]" if outcome.error is not None else f"[dim]{took}[/]"
    console.print(f"[bold]{outcome.experiment.name}[/]  {escape(outcome.experiment.title)}  {what}", soft_wrap=True)
    print_findings(outcome.findings if outcome.error is None else ())


def _print_summary(findings: Sequence[Finding], output: Path) -> None:
    from cbnet_lab.experiments.claim import VERDICTS

    counts = Counter(finding.verdict for finding in findings)
    verdicts = ", ".join(f"{VERDICTS[verdict]} {counts[verdict]}" for verdict in VERDICTS)
    print(f"\n{plural(len(findings), 'claim')}: {verdicts}\nreport: {output / 'README.md'}")


def _print_list(experiments: Sequence[Experiment], *, as_json: bool) -> None:
    names = ("name", "title", "section", "claims", "inputs")
    rows = [{name: getattr(experiment, name) for name in names} for experiment in experiments]
    columns: dict[str, Cell[dict[str, Any]]] = {
        "experiment": "name", "title": "title", "claims": lambda row: ", ".join(map(str, row["claims"])),
    }  # fmt: skip
    print_results(rows, [ResultTable("Experiments", rows, columns)], as_json=as_json, tight=True)
