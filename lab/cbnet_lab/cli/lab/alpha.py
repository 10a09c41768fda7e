"""`cbnet lab alpha`: the disjunction advantage, the size of a disjunction over the sum of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import add_cells, new_grid, plural, print_json, progress_bar, results_console
from cbnet.errors import InputError
from cbnet_lab.bench.plan_options import MASTER, REMOTE, option, seed
from cbnet_lab.cli.bench.plan_command import plan_function
from cbnet_lab.cli.lab.reproduce import print_findings

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.progress import Progress
    from rich.table import Table as Grid

    from cbnet_lab.experiments.claim import Finding
    from cbnet_lab.experiments.y2006.monte_carlo import SetProgress


class AdvantageModel(StrEnum):
    """The models of [2006 §4]."""

    general = "general"
    specific = "specific"


@dataclass(frozen=True)
class AdvantagePlan:
    """Measure the disjunction advantage α of [2006 §4], and compare it with the paper.

    Example: cbnet lab alpha specific --scenario uniform-50 --sets 20 --max-predicates 1000
    """

    model: AdvantageModel | None = option(
        None, "", "general (sets of messages) or specific (predicates); both by default.", name=""
    )
    scenario: tuple[str, ...] = option(
        (), "NAME", "zipf-500, zipf-5000, uniform-50 or uniform-500; repeatable.", shown="all"
    )
    sets: int | None = option(None, "N", "Number of sets of predicates.", shown="100 (specific), 10 (general)", least=1)
    max_predicates: int | None = option(None, "N", "Maximum predicates in a set (specific).", shown="10000", least=1)
    terms: Path | None = option(None, "FILE", "File with a term, a tab and a count per line (specific).", shown=False)
    bits: bool = option(
        False, "", "Measure α in bits, M(p) = min(|M|, |p| log |M|), instead of messages (general).", name="--bits"
    )
    master: str | None = option(None, "URL", MASTER, shown="processes here; a master draws the sets on Spark")
    remote: str | None = option(None, "URL", REMOTE, shown="SPARK_REMOTE")
    seed: int = seed()

    def __post_init__(self) -> None:
        if self.model is AdvantageModel.general and (self.scenario or self.terms or self.max_predicates):
            problem = "the general model has no --scenario, --terms or --max-predicates"
            raise InputError(problem, hint="leave them out, or use `specific`")
        if self.model is AdvantageModel.specific and self.bits:
            problem = "the specific model has no --bits: its size is a number of constraints"
            raise InputError(problem, hint="use `general`")


def _measure(plan: AdvantagePlan, as_json: bool) -> None:
    from cbnet_lab.experiments.registry import EXPERIMENTS
    from cbnet_lab.experiments.y2006.monte_carlo import (
        UNIVERSES,
        advantages_in_bits,
        general_advantages,
        specific_advantages,
    )
    from cbnet_lab.workload.disjunction_2006 import SCENARIOS

    if plan.model is not AdvantageModel.general:
        scenarios = plan.scenario or tuple(SCENARIOS)
        with _session(plan) as spark, progress_bar() as bar:
            progress = _bar_updater(bar, "specific model")
            table = specific_advantages(
                scenarios,
                sets=plan.sets or 100,
                max_predicates=plan.max_predicates or 10_000,
                terms=plan.terms,
                seed=plan.seed,
                progress=progress,
                spark=spark,
            )
        found = EXPERIMENTS["2006-figures-6-7"].findings({"advantages": table}, None)
        _print(AdvantageModel.specific, table, found, as_json)
    if plan.model is not AdvantageModel.specific:
        with _session(plan) as spark, progress_bar() as bar:
            table = general_advantages(
                UNIVERSES,
                sets=plan.sets or 10,
                seed=plan.seed,
                progress=_bar_updater(bar, "general model"),
                spark=spark,
            )
        found = EXPERIMENTS["2006-figure-5"].findings({"advantages": table}, None)  # the paper's are in messages
        shown = advantages_in_bits(table) if plan.bits else table
        _print(AdvantageModel.general, shown, found, as_json, bits=plan.bits)


alpha = plan_function("alpha", AdvantagePlan, _measure)


@contextmanager
def _session(plan: AdvantagePlan) -> Iterator[Any]:
    """Yield a Spark session, or None if none is asked for."""
    if not (plan.master or plan.remote):
        yield None
        return
    from cbnet.pipeline.spark.session import borrowed_session

    with borrowed_session("cbnet lab alpha", master=plan.master, remote=plan.remote) as spark:
        yield spark


def _bar_updater(bar: Progress, name: str) -> SetProgress:
    """Return a function that updates a progress bar."""
    task = bar.add_task(name, total=None)
    return lambda done, total: bar.update(task, completed=done, total=total)


def _print(
    model: AdvantageModel,
    table: pa.Table,
    findings: Sequence[Finding],
    as_json: bool,
    *,
    bits: bool = False,
) -> None:
    if as_json:
        for row in table.to_pylist():
            print_json({"model": model.value, **row})
        for finding in findings:
            print_json({"model": model.value, **asdict(finding)})
        return

    console = results_console()
    for grid in _general_grids(table, bits) if model is AdvantageModel.general else _specific_grids(table):
        console.print(grid)
    console.print("[bold]Claims of the paper[/]")
    print_findings(findings)
    console.print()


def _specific_grids(table: pa.Table) -> Iterator[Grid]:
    """Yield a table for each scenario: the percentiles by both rules."""
    from cbnet_lab.experiments.y2006.monte_carlo import PERCENTILES, RULES

    for scenario, rows in _by_scenario(table).items():
        sets = next(iter(rows.values()))["sets"]
        heads = [f"{rule if name == 'p50' else ''}\n{name}" for rule in RULES for name in PERCENTILES]
        grid = _grid(f"{scenario}: α over {plural(sets, 'set')}, by the pairwise and by the full rules", heads)
        for count in dict.fromkeys(count for _, count in rows):
            cells = [rows[rule, count][name] for rule in RULES for name in PERCENTILES]
            add_cells(grid, f"{count:,}", *(f"{cell:.3f}" for cell in cells))
        yield grid


def _general_grids(table: pa.Table, bits: bool) -> Iterator[Grid]:
    """Yield a table for each size of the universe: the medians by distribution and reading."""
    from cbnet.routing.sizing.advantage import expected, in_bits
    from cbnet_lab.experiments.y2006.monte_carlo import DISTRIBUTIONS, READINGS, SHARE, UNIVERSES

    scenarios = _by_scenario(table)
    for universe in UNIVERSES:
        heads = [f"{distribution}\n{reading}" for distribution in DISTRIBUTIONS for reading in READINGS]
        size = universe // SHARE
        title = f"{universe:,} messages, predicates of {size:,}: median α{' in bits' if bits else ''}"
        grid = _grid(title, ["\nnk/|M|", "closed\nform", *heads])
        for _, count in (key for key in scenarios[f"uniform-{universe}"] if key[0] == READINGS[0]):
            medians = [
                scenarios[f"{distribution}-{universe}"][reading, count]["p50"]
                for distribution in DISTRIBUTIONS
                for reading in READINGS
            ]
            closed = expected(count, size, universe)
            cells = (in_bits(closed, count, size, universe) if bits else closed, *medians)
            add_cells(grid, f"{count:,}", f"{count / SHARE:.2f}", *(f"{cell:.3f}" for cell in cells))
        yield grid


def _by_scenario(table: pa.Table) -> dict[str, dict[tuple[str, int], dict[str, Any]]]:
    """Return the rows of each scenario by rule and number of predicates."""
    scenarios: dict[str, dict[tuple[str, int], dict[str, Any]]] = {}
    for row in table.to_pylist():
        scenarios.setdefault(row["scenario"], {})[row["rule"], row["predicates"]] = row
    return scenarios


def _grid(title: str, heads: Sequence[str]) -> Grid:
    grid = new_grid(title, "\npredicates", *heads)
    grid.columns[0].justify = "right"
    grid.padding = (0, 0)  # so that 80 columns are enough
    return grid
