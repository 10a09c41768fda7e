"""`cbnet lab alpha`: the disjunction advantage, the size of a disjunction over the sum of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cbnet.cli.console import plural, progress_bar
from cbnet.errors import InputError
from cbnet_lab.bench.plan_options import MASTER, REMOTE, option, seed
from cbnet_lab.bench.result_table import Cell, ResultTable
from cbnet_lab.cli.bench.plan_command import plan_function, print_results
from cbnet_lab.cli.lab.reproduce import print_findings

if TYPE_CHECKING:
    import pyarrow as pa

    from cbnet_lab.experiments.claim import Finding
    from cbnet_lab.experiments.y2006.monte_carlo import SetProgress

Row: TypeAlias = dict[str, Any]
Scenarios: TypeAlias = dict[str, dict[tuple[str, int], Row]]  # rows by scenario, rule and number of predicates


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
        with _session(plan) as spark, _progress("specific model") as progress:
            table = specific_advantages(
                plan.scenario or tuple(SCENARIOS), sets=plan.sets or 100, max_predicates=plan.max_predicates or 10_000,
                terms=plan.terms, seed=plan.seed, progress=progress, spark=spark,
            )  # fmt: skip
        found = EXPERIMENTS["2006-figures-6-7"].findings({"advantages": table}, None)
        _print(AdvantageModel.specific, table, found, _specific_tables(_by_scenario(table)), as_json)
    if plan.model is not AdvantageModel.specific:
        with _session(plan) as spark, _progress("general model") as progress:
            table = general_advantages(UNIVERSES, sets=plan.sets or 10, seed=plan.seed, progress=progress, spark=spark)
        found = EXPERIMENTS["2006-figure-5"].findings({"advantages": table}, None)  # the paper's are in messages
        shown = advantages_in_bits(table) if plan.bits else table
        _print(AdvantageModel.general, shown, found, _general_tables(_by_scenario(shown), plan.bits), as_json)


alpha = plan_function("alpha", AdvantagePlan, _measure)


@contextmanager
def _session(plan: AdvantagePlan) -> Iterator[Any]:
    """Yield a Spark session, or None without --master and --remote."""
    if not (plan.master or plan.remote):
        yield None
        return
    from cbnet.pipeline.spark.session import borrowed_session

    with borrowed_session("cbnet lab alpha", master=plan.master, remote=plan.remote) as spark:
        yield spark


@contextmanager
def _progress(name: str) -> Iterator[SetProgress]:
    """Show a progress bar; yield the function that updates it."""
    with progress_bar() as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print(
    model: AdvantageModel,
    table: pa.Table,
    findings: Sequence[Finding],
    shown: Iterator[ResultTable[Row]],
    as_json: bool,
) -> None:
    rows = [{"model": model.value, **row} for row in (*table.to_pylist(), *map(asdict, findings))]
    print_results(rows, shown, as_json=as_json, tight=True)
    if not as_json:
        print_findings(findings, "Claims of the paper")


def _specific_tables(scenarios: Scenarios) -> Iterator[ResultTable[Row]]:
    """Yield a table for each scenario: the percentiles by both rules."""
    from cbnet_lab.experiments.y2006.monte_carlo import PERCENTILES, RULES

    columns: dict[str, Cell[Row]] = {"\npredicates": "predicates"}
    columns |= {f"{rule}\n{name}": f"{rule} {name}" for rule in RULES for name in PERCENTILES}
    for scenario, rows in scenarios.items():
        sets = next(iter(rows.values()))["sets"]
        title = f"{scenario}: α over {plural(sets, 'set')}, by the pairwise and by the full rules"
        lines: dict[int, Row] = {}
        for (rule, count), row in rows.items():
            lines.setdefault(count, {"predicates": count}).update({f"{rule} {name}": row[name] for name in PERCENTILES})
        yield ResultTable(title, list(lines.values()), columns)


def _general_tables(scenarios: Scenarios, bits: bool) -> Iterator[ResultTable[Row]]:
    """Yield a table for each size of the universe: the medians by distribution and reading."""
    from cbnet.routing.sizing.advantage import expected, in_bits
    from cbnet_lab.experiments.y2006.monte_carlo import DISTRIBUTIONS, READINGS, SHARE, UNIVERSES

    pairs = [(distribution, reading) for distribution in DISTRIBUTIONS for reading in READINGS]
    columns: dict[str, Cell[Row]] = {"\npredicates": "predicates", "\nnk/|M|": "ratio", "closed\nform": "closed"}
    columns |= {f"{distribution}\n{reading}": f"{distribution} {reading}" for distribution, reading in pairs}
    for universe in UNIVERSES:
        size, lines = universe // SHARE, []
        for _, count in (key for key in scenarios[f"uniform-{universe}"] if key[0] == READINGS[0]):
            closed = expected(count, size, universe)
            line = {"predicates": count, "ratio": count / SHARE}
            line["closed"] = in_bits(closed, count, size, universe) if bits else closed
            lines.append(line | {f"{d} {r}": scenarios[f"{d}-{universe}"][r, count]["p50"] for d, r in pairs})
        title = f"{universe:,} messages, predicates of {size:,}: median α{' in bits' if bits else ''}"
        yield ResultTable(title, lines, columns)


def _by_scenario(table: pa.Table) -> Scenarios:
    """Return the rows of each scenario by rule and number of predicates."""
    scenarios: Scenarios = {}
    for row in table.to_pylist():
        scenarios.setdefault(row["scenario"], {})[row["rule"], row["predicates"]] = row
    return scenarios
