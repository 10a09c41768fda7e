"""`cbnet reproduce`: what do the figures, tables and examples of the papers come to, run anew?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cbnet.cli.console import AsJson, counted, print_json
from cbnet.cli.grids import add_cells, new_grid
from cbnet.cli.progress import progress_bar
from cbnet.cli.seeds import seed_option
from cbnet.errors import CbnetError, InputError

if TYPE_CHECKING:
    from rich.progress import Progress

    from cbnet.lab.experiments.claim import Finding
    from cbnet.lab.experiments.experiment import AnyExperiment, ExperimentContext
    from cbnet.lab.experiments.reproduce import ExperimentOutcome

_MARKS = {"holds": "green", "differs": "yellow", "fails": "red", "open": "dim"}


class Scale(StrEnum):
    """How much is run."""

    quick = "quick"
    full = "full"
    paper = "paper"


# Spark cuts what it shuffles into 200 parts unless it is told otherwise: of little data that is nothing but parts.
_SPARK: dict[Scale, dict[str, str]] = {
    Scale.quick: {"spark.sql.shuffle.partitions": "4"},
    Scale.full: {"spark.sql.shuffle.partitions": "16"},
    Scale.paper: {},
}


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Experiments, or papers such as 2014; all if not given.", show_default=False),
    ] = None,
    scale: Annotated[
        Scale, typer.Option("--scale", help="Quick takes minutes, full about an hour; paper has the papers' ranges.")
    ] = Scale.quick,
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder for tables, charts and page.", show_default=False)
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option("--topology", help="A graph of the Internet; one like it if not given.", show_default=False),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option("--traces", help="A folder with traces of users; models if not given.", show_default=False),
    ] = None,
    seed: Annotated[int, seed_option("Another seed draws other inputs.")] = 0,
    list_: Annotated[bool, typer.Option("--list", help="List the experiments, and run none.")] = False,
    json: AsJson = False,
) -> None:
    """Run the papers' experiments, check their statements one by one, and write a page about it.

    Example: cbnet reproduce 2014 --scale quick --out results
    """
    from cbnet.lab.experiments.registry import select_experiments

    experiments = select_experiments(names or ())
    if list_:
        _print_list(experiments, as_json=json)
        return
    if out is None:
        raise InputError("where should the results go?", hint="give --out DIR")
    outcomes = _run(experiments, scale, out, topology, traces, seed, as_json=json)
    others = _stored_others(outcomes, out)
    findings = _write(others, out)
    if not json:
        _print_summary(findings, out)
    broken = [outcome.experiment.name for outcome in outcomes if outcome.error is not None]
    if broken:
        raise CbnetError(f"{counted(len(broken), 'experiment')} could not be run: {', '.join(broken)}")


def _run(
    experiments: Sequence[AnyExperiment],
    scale: Scale,
    out: Path,
    topology: Path | None,
    traces: Path | None,
    seed: int,
    *,
    as_json: bool,
) -> list[ExperimentOutcome]:
    from cbnet.lab.experiments.reproduce import reproduce as run_all

    outcomes = []
    with progress_bar() as bar, _context(bar, scale, topology, traces, seed) as context:
        whole = bar.add_task("experiments", total=len(experiments))

        def started(experiment: AnyExperiment) -> None:
            bar.update(whole, description=experiment.name)
            context.progress(1, 1, "")  # the last part of the experiment before is done

        for outcome in run_all(experiments, scale.value, out, context, started):
            bar.advance(whole)
            outcomes.append(outcome)
            with _hidden(bar):
                _print_outcome(outcome, as_json=as_json)
    return outcomes


@contextmanager
def _hidden(bar: Progress) -> Iterator[None]:
    """Take the bars off the terminal for a moment, so that what is printed does not begin in the middle of them."""
    if bar.disable:
        yield
        return
    bar.stop()
    yield
    bar.start()


@contextmanager
def _context(
    bar: Progress, scale: Scale, topology: Path | None, traces: Path | None, seed: int
) -> Iterator[ExperimentContext]:
    """Give what experiments run with; Spark starts when the first one asks for it, and ends with the last."""
    from cbnet.lab.experiments.experiment import ExperimentContext

    part = bar.add_task("", total=None, visible=False)

    def show(done: int, total: int, what: str) -> None:
        bar.update(part, completed=done, total=total, description=f"  {what}", visible=done < total)

    with ExitStack() as stack:
        sessions: list[Any] = []

        def spark() -> Any:
            if not sessions:
                from cbnet.pipeline.spark.session import spark_session

                session = spark_session("cbnet reproduce", conf=_SPARK[scale], progress=False)
                sessions.append(stack.enter_context(session))
            return sessions[0]

        yield ExperimentContext(seed, topology, traces, progress=show, spark=spark)


def _stored_others(outcomes: Sequence[ExperimentOutcome], out: Path) -> list[ExperimentOutcome]:
    """Return these outcomes with those of earlier runs to the same folder, in the order of the papers."""
    from cbnet.lab.experiments.registry import EXPERIMENTS
    from cbnet.lab.experiments.reproduce import stored_outcome

    found = {outcome.experiment.name: outcome for outcome in outcomes}
    earlier = ((name, stored_outcome(EXPERIMENTS[name], out)) for name in EXPERIMENTS if name not in found)
    found |= {name: outcome for name, outcome in earlier if outcome is not None}
    return [found[name] for name in EXPERIMENTS if name in found]


def _write(outcomes: Sequence[ExperimentOutcome], out: Path) -> list[Finding]:
    """Write the page and the findings; return these."""
    import json

    from cbnet.lab.experiments.claim import claims
    from cbnet.lab.experiments.page import all_findings, reproduction_page
    from cbnet.lab.report.page import html

    findings = all_findings(outcomes)
    rows = [asdict(claims()[finding.claim]) | asdict(finding) for finding in findings]
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    (out / "claims.jsonl").write_text("".join(lines), encoding="utf-8")
    (out / "report.html").write_text(html(reproduction_page(outcomes)), encoding="utf-8")
    return findings


def _print_outcome(outcome: ExperimentOutcome, *, as_json: bool) -> None:
    if as_json:
        for finding in outcome.findings:
            print_json({"experiment": outcome.experiment.name, **asdict(finding)})
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    took = "was there" if outcome.reused else f"{outcome.manifest.get('seconds', 0):,} s"
    what = f"[red]{escape(outcome.error)}[/]" if outcome.error is not None else f"[dim]{took}[/]"
    console.print(f"[bold]{outcome.experiment.name}[/]  {escape(outcome.experiment.title)}  {what}", soft_wrap=True)
    for finding in outcome.findings if outcome.error is None else ():
        mark = f"[{_MARKS[finding.verdict]}]{finding.label}[/]"
        reason = f" [dim]({escape(finding.reason)})[/]" if finding.reason else ""
        console.print(f"  {finding.claim:>2} {mark}: {escape(finding.ours)}{reason}", soft_wrap=True)


def _print_summary(findings: Sequence[Finding], out: Path) -> None:
    from cbnet.lab.experiments.claim import VERDICTS

    counts = Counter(finding.verdict for finding in findings)
    told = ", ".join(f"{VERDICTS[verdict]} {counts[verdict]}" for verdict in VERDICTS)
    print(f"\n{counted(len(findings), 'claim')}: {told}\nthe page: {out / 'report.html'}")


def _print_list(experiments: Sequence[AnyExperiment], *, as_json: bool) -> None:
    if as_json:
        for experiment in experiments:
            members = {"name": experiment.name, "title": experiment.title, "section": experiment.section}
            print_json({**members, "claims": experiment.claims, "inputs": experiment.inputs})
        return
    from rich.console import Console

    grid = new_grid("", "experiment", "what", "claims", tight=True)
    for column in grid.columns:
        column.justify = "left"
    for experiment in experiments:
        add_cells(grid, experiment.name, experiment.title, ", ".join(map(str, experiment.claims)))
    Console().print(grid)
