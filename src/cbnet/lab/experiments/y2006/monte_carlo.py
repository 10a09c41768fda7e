"""Monte Carlo: how does the disjunction advantage fall as more predicates are combined? [2006 §4]

Both models of the paper: `specific_advantages`, predicates of the language (Figures 6 and 7), by both rules of
reduction; `general_advantages`, sets of messages (Figure 5), by both readings of "size k". Each set of predicates has a
random stream of its own, by seed and number, so it may be drawn anywhere; the numbers are those of
`experiments.advantage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias, get_args

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from cbnet.errors import InputError
from cbnet.lab.workload.disjunction_2006 import SCENARIOS, Disjunction2006, predicates
from cbnet.language.relations.constraint_group import Rules
from cbnet.pipeline.schemas import ADVANTAGES, arrow_schema
from cbnet.routing.sizing.advantage import Distribution, Predicates, Reading, Universe

Curves: TypeAlias = dict[str, list[float]]  # rule or reading -> advantage for each number of predicates
Draw: TypeAlias = Callable[[int], Curves]  # from the number of a set

PERCENTILES = {"min": 0.0, "p5": 0.05, "p50": 0.5, "p95": 0.95, "max": 1.0}
_SHARE = 100  # a predicate of the general model selects one message in so many [2006 §4.1]


def specific_advantages(
    spark: SparkSession,
    counts: Sequence[int],
    *,
    scenarios: Sequence[str] = tuple(SCENARIOS),
    sets: int = 100,
    terms: Path | None = None,
    seed: int = 0,
) -> DataFrame:
    """Return the advantage of the first n predicates of each set, for each n of `counts`: ADVANTAGES.

    terms: a file that all executors can read; None for those of cbnet.
    """
    for scenario in scenarios:
        if scenario not in SCENARIOS:
            raise InputError(f"unknown scenario {scenario!r}", hint=f"use one of {', '.join(SCENARIOS)}")
    draws = {name: partial(_specific_set, name, tuple(counts), terms, seed) for name in scenarios}
    return _advantages(spark, draws, counts, sets)


def general_advantages(
    spark: SparkSession, counts: Sequence[int], universes: Sequence[int], *, sets: int = 10, seed: int = 0
) -> DataFrame:
    """Return the same for sets of messages out of universes of so many."""
    draws = {
        f"{distribution}-{messages}": partial(_general_set, messages, distribution, tuple(counts), seed)
        for distribution in get_args(Distribution)
        for messages in universes
    }
    return _advantages(spark, draws, counts, sets)


def advantage_percentiles(advantages: DataFrame) -> DataFrame:
    """Return percentiles over the sets of each scenario, rule and number of predicates."""
    found = [F.percentile("advantage", F.lit(share)).alias(name) for name, share in PERCENTILES.items()]
    return advantages.groupBy("scenario", "rule", "predicates").agg(*found, F.count("*").alias("sets"))


def _advantages(spark: SparkSession, draws: Mapping[str, Draw], counts: Sequence[int], sets: int) -> DataFrame:
    if sets < 1:
        raise InputError(f"there must be at least one set, not {sets}")
    tasks = [(name, number, draw) for name, draw in draws.items() for number in range(sets)]
    numbers = spark.range(0, len(tasks), 1, len(tasks))
    return numbers.mapInArrow(partial(_draw, tasks=tasks, counts=tuple(counts)), ADVANTAGES)


def _draw(
    batches: Iterator[pa.RecordBatch], tasks: Sequence[tuple[str, int, Draw]], counts: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for place in batch.column(0).to_pylist():
            name, number, draw = tasks[place]
            rows = [
                {"scenario": name, "rule": rule, "set": number, "predicates": count, "advantage": advantage}
                for rule, curve in draw(number).items()
                for count, advantage in zip(counts, curve, strict=True)
            ]
            yield pa.RecordBatch.from_pylist(rows, schema=arrow_schema(ADVANTAGES))


def _specific_set(scenario: str, counts: Sequence[int], terms: Path | None, seed: int, number: int) -> Curves:
    names, zipf = SCENARIOS[scenario]
    drawn = Predicates(predicates(Disjunction2006(max(counts), names, zipf, terms, seed=seed, set=number)))
    return {rules: drawn.advantages(counts, rules) for rules in get_args(Rules)}


def _general_set(messages: int, distribution: Distribution, counts: Sequence[int], seed: int, number: int) -> Curves:
    universe = Universe(messages, distribution)
    rng = np.random.default_rng([seed, number, messages, get_args(Distribution).index(distribution)])
    return {reading: universe.advantages(messages // _SHARE, counts, reading, rng) for reading in get_args(Reading)}
