"""`cbnet lab alpha`: the disjunction advantage, the size of a disjunction over the sum of its parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from cbnet.cli.console import plural, progress_bar
from cbnet.cli.options import JSON, argument, flag, option
from cbnet.errors import InputError
from cbnet_lab.bench.plan_options import MASTER, REMOTE, seed
from cbnet_lab.bench.result_table import Cell, ResultTable
from cbnet_lab.cli.bench.plan_command import print_results
from cbnet_lab.cli.lab.reproduce import print_findings
from cbnet_lab.experiments.curves import Row, grouped

if TYPE_CHECKING:
    import pyarrow as pa

Model: TypeAlias = Literal["general", "specific"]


@dataclass(frozen=True)
class AdvantagePlan:
    """The options of `cbnet lab alpha`."""

    model: Model | None = argument(None, "", "general (sets of messages) or specific (predicates); both by default.")
    scenario: tuple[str, ...] = option(
        (), "NAME", "zipf-500, zipf-5000, uniform-50 or uniform-500; repeatable.", shown="all"
    )
    sets: int | None = option(None, "N", "Number of sets of predicates.", shown="100 (specific), 10 (general)", least=1)
    max_predicates: int | None = option(None, "N", "Maximum predicates in a set (specific).", shown="10000", least=1)
    terms: Path | None = option(None, "FILE", "File with a term, a tab and a count per line (specific).", shown=False)
    bits: bool = flag("Measure α in bits, M(p) = min(|M|, |p| log |M|), instead of messages (general).")
    master: str | None = option(None, "URL", MASTER, shown="processes here; a master draws the sets on Spark")
    remote: str | None = option(None, "URL", REMOTE, shown="SPARK_REMOTE")
    seed: int = seed()

    def __post_init__(self) -> None:
        if self.model == "general" and (self.scenario or self.terms or self.max_predicates):
            problem = "the general model has no --scenario, --terms or --max-predicates"
            raise InputError(problem, hint="leave them out, or use `specific`")
        if self.model == "specific" and self.bits:
            problem = "the specific model has no --bits: its size is a number of constraints"
            raise InputError(problem, hint="use `general`")


def alpha(plan: AdvantagePlan, as_json: bool = JSON) -> None:
    """Measure the disjunction advantage α of [2006 §4], and compare it with the paper.

    Example: cbnet lab alpha specific --scenario uniform-50 --sets 20 --max-predicates 1000
    """
    from cbnet_lab.experiments.experiment import load_experiment
    from cbnet_lab.experiments.y2006.monte_carlo import advantages_in_bits

    models: tuple[Model, ...] = ("specific", "general") if plan.model is None else (plan.model,)
    for model in models:
        table = _advantages(plan, model)
        name = "2006-figures-6-7" if model == "specific" else "2006-figure-5"
        findings = load_experiment(name).findings({"advantages": table}, None)  # the paper's are in messages
        if plan.bits and model == "general":
            table = advantages_in_bits(table)
        measured = table.to_pylist()
        rows = [{"model": model, **row} for row in (*measured, *map(asdict, findings))]
        print_results(rows, _tables(measured), as_json=as_json, tight=True)
        if not as_json:
            print_findings(findings, "Claims of the paper")


def _advantages(plan: AdvantagePlan, model: Model) -> pa.Table:
    """Return α in a model, measured here, or on Spark with --master or --remote."""
    from cbnet_lab.experiments.y2006 import monte_carlo

    session: Any = nullcontext()
    if plan.master or plan.remote:
        from cbnet.pipeline.spark.session import borrowed_session

        session = borrowed_session("cbnet lab alpha", master=plan.master, remote=plan.remote)
    with session as spark, progress_bar() as bar:
        task = bar.add_task(f"{model} model", total=None)
        run: dict[str, Any] = {"seed": plan.seed, "spark": spark}
        run["progress"] = lambda done, total: bar.update(task, completed=done, total=total)
        if model == "general":
            return monte_carlo.general_advantages(monte_carlo.UNIVERSES, sets=plan.sets or 10, **run)
        sizes: dict[str, Any] = {"sets": plan.sets or 100, "max_predicates": plan.max_predicates or 10_000}
        return monte_carlo.specific_advantages(plan.scenario, **sizes, terms=plan.terms, **run)


def _tables(rows: list[Row]) -> Iterator[ResultTable[Row]]:
    """Yield a table for each scenario: the percentiles by rule, or reading, and number of predicates."""
    from cbnet_lab.experiments.y2006.monte_carlo import PERCENTILES

    columns: dict[str, Cell[Row]] = {name: name for name in ("rule", "predicates", *PERCENTILES)}
    for (scenario,), group in grouped(rows, "scenario").items():
        yield ResultTable(f"{scenario}: α over {plural(group[0]['sets'], 'set')}", group, columns)
