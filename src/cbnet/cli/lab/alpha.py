"""`cbnet alpha`: how much smaller is a disjunction than its parts, as more predicates are combined?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cbnet.cli.console import AsJson, counted, print_json
from cbnet.cli.grids import add_cells, new_grid
from cbnet.cli.progress import progress_bar
from cbnet.cli.seeds import seed_option
from cbnet.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.progress import Progress
    from rich.table import Table as Grid

    from cbnet.lab.experiments.y2006.advantage_claims import AdvantageComparison
    from cbnet.lab.experiments.y2006.monte_carlo import SetProgress


_MARKS = {True: "[green]holds[/] ", False: "[yellow]differs[/]", None: "[dim]open[/]   "}


class Model(StrEnum):
    """The models of [2006 §4]."""

    general = "general"
    specific = "specific"


def alpha(
    model: Annotated[
        Model | None, typer.Argument(help="General (sets of messages) or specific (predicates); both if not given.")
    ] = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option("--scenario", help="zipf-500, zipf-5000, uniform-50 or uniform-500; repeat it for more."),
    ] = None,
    sets: Annotated[
        int | None,
        typer.Option("--sets", min=1, help="Sets of predicates; 100 (specific) and 10 (general) if not given."),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option("--most", min=1, help="The most predicates in a set (specific); 10,000 if not given."),
    ] = None,
    terms: Annotated[
        Path | None, typer.Option("--terms", help="A file with a term, a tab and a count to a line (specific).")
    ] = None,
    seed: Annotated[int, seed_option("Another seed makes other sets.")] = 0,
    json: AsJson = False,
) -> None:
    """Measure the disjunction advantage α of [2006 §4], and compare it with what the paper says.

    Example: cbnet alpha specific --scenario uniform-50 --sets 20 --most 1000
    """
    if model is Model.general and (scenario or terms or most):
        raise InputError(
            "the general model takes no --scenario, --terms or --most", hint="leave them out, or ask for `specific`"
        )
    from cbnet.lab.experiments.y2006.advantage_claims import general_comparisons, specific_comparisons
    from cbnet.lab.experiments.y2006.monte_carlo import UNIVERSES, general_advantages, specific_advantages
    from cbnet.lab.workload.disjunction_2006 import SCENARIOS

    if model is not Model.general:
        scenarios = scenario or tuple(SCENARIOS)
        with progress_bar() as bar:
            table = specific_advantages(
                scenarios,
                sets=sets or 100,
                max_predicates=most or 10_000,
                terms=terms,
                seed=seed,
                progress=_mover(bar, "specific model"),
            )
        _tell(Model.specific, table, list(specific_comparisons(table)), json)
    if model is not Model.specific:
        with progress_bar() as bar:
            progress = _mover(bar, "general model")
            table = general_advantages(UNIVERSES, sets=sets or 10, seed=seed, progress=progress)
        _tell(Model.general, table, list(general_comparisons(table)), json)


def _mover(bar: Progress, what: str) -> SetProgress:
    """Return the function that moves the bar of this name."""
    task = bar.add_task(what, total=None)
    return lambda done, total: bar.update(task, completed=done, total=total)


def _tell(model: Model, table: pa.Table, comparisons: Sequence[AdvantageComparison], as_json: bool) -> None:
    if as_json:
        for row in table.to_pylist():
            print_json({"model": model.value, **row})
        for comparison in comparisons:
            print_json({"model": model.value, **asdict(comparison)})
        return
    from rich.console import Console

    console = Console(highlight=False)
    for grid in _general_grids(table) if model is Model.general else _specific_grids(table):
        console.print(grid)
    for comparison in comparisons:
        console.print(
            f"{_MARKS[comparison.holds]} {comparison.claim}: {comparison.ours} [dim](paper: {comparison.paper})[/]",
            soft_wrap=True,
        )
    console.print()


def _specific_grids(table: pa.Table) -> Iterator[Grid]:
    """Yield a table for each scenario: the percentiles by both rules."""
    from cbnet.lab.experiments.y2006.monte_carlo import PERCENTILES, RULES

    for scenario, rows in _by_scenario(table).items():
        sets = next(iter(rows.values()))["sets"]
        heads = [f"{rule if name == 'p50' else ''}\n{name}" for rule in RULES for name in PERCENTILES]
        grid = _grid(f"{scenario}: α over {counted(sets, 'set')}, by the pairwise and by the full rules", heads)
        for count in dict.fromkeys(count for _, count in rows):
            cells = [rows[rule, count][name] for rule in RULES for name in PERCENTILES]
            add_cells(grid, f"{count:,}", *(f"{cell:.3f}" for cell in cells))
        yield grid


def _general_grids(table: pa.Table) -> Iterator[Grid]:
    """Yield a table for each size of the universe: the medians by distribution and reading."""
    from cbnet.lab.experiments.y2006.monte_carlo import DISTRIBUTIONS, READINGS, SHARE, UNIVERSES
    from cbnet.routing.sizing.advantage import expected

    scenarios = _by_scenario(table)
    for universe in UNIVERSES:
        heads = [f"{distribution}\n{reading}" for distribution in DISTRIBUTIONS for reading in READINGS]
        title = f"{universe:,} messages, predicates of {universe // SHARE:,}: median α"
        grid = _grid(title, ["\nnk/|M|", "closed\nform", *heads])
        for _, count in (key for key in scenarios[f"uniform-{universe}"] if key[0] == READINGS[0]):
            medians = [
                scenarios[f"{distribution}-{universe}"][reading, count]["p50"]
                for distribution in DISTRIBUTIONS
                for reading in READINGS
            ]
            cells = (expected(count, universe // SHARE, universe), *medians)
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
