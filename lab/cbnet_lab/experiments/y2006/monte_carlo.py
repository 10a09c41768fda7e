"""Monte Carlo estimates of the disjunction advantage α as more predicates are combined [2006 §4].

`specific_advantages` is the model of Figures 6 and 7, by both rules of reduction; `general_advantages` is that of
Figure 5, by both readings of "size k". Both return a row for each scenario, rule and number of predicates, such as the
last one of `specific_advantages(["zipf-500"], max_predicates=100)` by the pairwise rules:

    scenario  rule      predicates  min    p5     p50    p95    max    sets
    zipf-500  pairwise  100         0.485  0.551  0.813  0.974  0.993  100

A set of predicates is drawn once, and α is computed for its first one, two, five and so on. Each set has its own random
stream, so results do not depend on the number of processes, nor on whether the sets are drawn on Spark.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import numpy as np
import pyarrow as pa

from cbnet.errors import CbnetError, InputError
from cbnet.language.relations.reduction import Rules
from cbnet.routing.sizing.advantage import Distribution, Predicates, Reading, Universe
from cbnet_lab.experiments.curves import Row, grouped
from cbnet_lab.workload.disjunction_2006 import SCENARIOS, Disjunction2006, predicates
from cbnet_lab.workload.vocabulary import terms as read_terms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES: tuple[Rules, ...] = ("pairwise", "full")
READINGS: tuple[Reading, ...] = get_args(Reading)
DISTRIBUTIONS: tuple[Distribution, ...] = get_args(Distribution)
UNIVERSES = (10**4, 10**5, 10**6)
SHARE = 100  # a predicate of the general model selects one message in 100 [§4.1]
GENERAL_COUNTS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)  # nk is up to five times the universe
PERCENTILES = {"min": 0, "p5": 5, "p50": 50, "p95": 95, "max": 100}
SCHEMA = pa.schema(
    [("scenario", pa.string()), ("rule", pa.string()), ("predicates", pa.int64())]
    + [(name, pa.float64()) for name in PERCENTILES]
    + [("sets", pa.int64())]
)

Points: TypeAlias = dict[int, Row]  # number of predicates -> percentiles
AdvantageCurves: TypeAlias = Mapping[tuple[str, str], Points]  # by scenario and rule
Curves: TypeAlias = dict[str, list[float]]  # rule -> α for each number of predicates
Task: TypeAlias = tuple[str, Callable[[], Curves]]  # a scenario, and the function that draws one set of it
SetProgress: TypeAlias = Callable[[int, int], None]  # sets done, sets in total


def specific_advantages(
    scenarios: Sequence[str] = (),
    *,
    sets: int = 100,
    max_predicates: int = 10_000,
    terms: Path | None = None,
    seed: int = 0,
    processes: int = 1,
    progress: SetProgress | None = None,
    spark: SparkSession | None = None,
) -> pa.Table:
    """Return α in the specific model, for up to `max_predicates` predicates, by both rules.

    scenarios: names; all by default.
    terms: a file of terms and counts, readable on all executors; None for the built-in ones.
    spark: draws the sets on a cluster instead of in processes.
    """
    if not math.isfinite(sum(read_terms(terms).weights)):
        raise InputError("the sum of the counts of the terms is too large", file=str(terms))
    counts = counts_up_to(max_predicates)
    tasks = [
        (scenario, partial(_specific_set, scenario, counts, terms, seed, number))
        for scenario in scenarios or SCENARIOS
        for number in range(sets)
    ]
    return _percentiles(tasks, counts, _run_tasks(tasks, processes, spark), progress)


def general_advantages(
    universes: Sequence[int] = UNIVERSES,
    *,
    sets: int = 10,
    seed: int = 0,
    processes: int = 1,
    progress: SetProgress | None = None,
    spark: SparkSession | None = None,
) -> pa.Table:
    """Return α in the general model, for uniform and Zipf distributions, by both readings of "size k"."""
    tasks = [
        (f"{distribution}-{messages}", partial(_general_set, Universe(messages, distribution), seed, number))
        for distribution in DISTRIBUTIONS
        for messages in universes
        for number in range(sets)
    ]
    return _percentiles(tasks, GENERAL_COUNTS, _run_tasks(tasks, processes, spark), progress)


def advantage_curves(rows: list[Row]) -> AdvantageCurves:
    """Return the rows of a table by scenario and rule, and by number of predicates."""
    return {
        (scenario, rule): {row["predicates"]: row for row in group}
        for (scenario, rule), group in grouped(rows, "scenario", "rule").items()
    }


def counts_up_to(largest: int) -> tuple[int, ...]:
    """Return 1, 2, 5, 10, ... up to a tenth of `largest`, and then every tenth of it."""
    powers = [10**power for power in range(len(str(largest)))]
    small = [step * power for power in powers for step in (1, 2, 5) if step * power < largest / 10]
    return tuple(sorted({*small, *(max(1, largest * tenth // 10) for tenth in range(1, 11))}))


def _specific_set(scenario: str, counts: Sequence[int], terms: Path | None, seed: int, number: int) -> Curves:
    names, zipf = SCENARIOS[scenario]
    drawn = Predicates(predicates(Disjunction2006(max(counts), names, zipf, terms, seed=seed, set=number)))
    return {rules: drawn.advantages(counts, rules) for rules in RULES}


def _general_set(universe: Universe, seed: int, number: int) -> Curves:
    rng = np.random.default_rng([seed, number, universe.messages, DISTRIBUTIONS.index(universe.distribution)])
    size = universe.messages // SHARE
    return {reading: universe.advantages(size, GENERAL_COUNTS, reading, rng) for reading in READINGS}


def _percentiles(
    tasks: Sequence[Task], counts: Sequence[int], results: Iterator[tuple[int, Curves]], progress: SetProgress | None
) -> pa.Table:
    """Return the percentiles over the sets of each scenario."""
    curves: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    for done, (number, result) in enumerate(results, 1):
        for rule, curve in result.items():
            curves[tasks[number][0], rule].append(curve)
        if progress is not None:
            progress(done, len(tasks))
    rows: list[dict[str, Any]] = []
    for scenario in dict.fromkeys(scenario for scenario, _ in tasks):
        for rule in (rule for of, rule in curves if of == scenario):
            values = np.percentile(curves[scenario, rule], list(PERCENTILES.values()), axis=0).T.tolist()
            rows += [
                {"scenario": scenario, "rule": rule, "predicates": count, "sets": len(curves[scenario, rule])}
                | dict(zip(PERCENTILES, row, strict=True))
                for count, row in zip(counts, values, strict=True)
            ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _run_tasks(tasks: Sequence[Task], processes: int, spark: SparkSession | None) -> Iterator[tuple[int, Curves]]:
    """Yield the number and the result of each task, in any order."""
    functions = [function for _, function in tasks]
    if spark is not None:
        from cbnet.pipeline.spark.parallelism import run_tasks

        yield from enumerate(run_tasks(spark, functions))
        return
    workers = min(processes, len(tasks))
    if workers == 1:
        yield from ((number, function()) for number, function in enumerate(functions))
        return
    context = get_context("spawn")  # a fork would copy Arrow's threads in an unknown state
    with ProcessPoolExecutor(workers, context, signal, (SIGINT, SIG_IGN)) as pool:
        futures = {pool.submit(function): number for number, function in enumerate(functions)}
        try:
            yield from ((futures[future], future.result()) for future in as_completed(futures))
        except BrokenExecutor:
            raise CbnetError("a worker process died, probably out of memory; use fewer sets or predicates") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
