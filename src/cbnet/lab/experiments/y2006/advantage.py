"""The disjunction advantage of [2006 §4]: how does α fall as more predicates are combined?

`specific` is the model of Figs. 6 and 7, by both rules of reduction; `general` is that of Fig. 5, by
both readings of "size k". Both give a table with a row for each scenario, rule and number of predicates,
such as the one that ends `specific(["zipf-500"], most=100)` by the pairwise rules:

    scenario  rule      predicates  min    p5     p50    p95    max    sets
    zipf-500  pairwise  100         0.485  0.551  0.813  0.974  0.993  100

A set of predicates is drawn once, and α is taken of its first one, two, five and so on. Each set has a
random stream of its own, so the results do not depend on the number of processes.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from typing import Any, TypeAlias, get_args

import numpy as np
import pyarrow as pa

from cbnet.errors import CbnetError, InputError
from cbnet.lab.workload.checks import check_at_least
from cbnet.lab.workload.disjunction_2006 import SCENARIOS, Disjunction2006, predicates
from cbnet.lab.workload.terms import terms as read_terms
from cbnet.language.relations.constraint_group import Rules
from cbnet.routing.sizing.advantage import Distribution, Predicates, Reading, Universe

RULES: tuple[Rules, ...] = ("pairwise", "full")
READINGS: tuple[Reading, ...] = get_args(Reading)
DISTRIBUTIONS: tuple[Distribution, ...] = get_args(Distribution)
UNIVERSES = (10**4, 10**5, 10**6)
SHARE = 100  # a predicate of the general model selects one message in so many [§4.1]
GENERAL_COUNTS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)  # nk is up to five times the universe
_MOST_SETS = 10_000
_MOST_PREDICATES = 1_000_000
_SMALL = 100_000  # predicates, which take as long as processes take to start
PERCENTILES = {"min": 0, "p5": 5, "p50": 50, "p95": 95, "max": 100}
SCHEMA = pa.schema(
    [("scenario", pa.string()), ("rule", pa.string()), ("predicates", pa.int64())]
    + [(name, pa.float64()) for name in PERCENTILES]
    + [("sets", pa.int64())]
)

Curves: TypeAlias = dict[str, list[float]]  # rule -> α for each number of predicates
Task: TypeAlias = tuple[str, Callable[[], Curves]]  # the scenario, and what to do for one set of it
Report: TypeAlias = Callable[[int, int], None]  # how many sets are done, and of how many


def specific(
    scenarios: Sequence[str] = tuple(SCENARIOS),
    *,
    sets: int = 100,
    most: int = 10_000,
    terms: Path | None = None,
    seed: int = 0,
    processes: int | None = None,
    report: Report | None = None,
) -> pa.Table:
    """Return α in the specific model, for up to `most` predicates, by both rules.

    Without a number of processes there are as many as cores, if that pays.
    """
    _check(sets)
    scenarios = [*dict.fromkeys(scenarios)]  # a set that is counted twice would look like two
    for scenario in scenarios:
        if scenario not in SCENARIOS:
            raise InputError(f"unknown scenario {scenario!r}", hint=f"use one of {', '.join(SCENARIOS)}")
    Disjunction2006(most, seed=seed)  # checks them
    if most > _MOST_PREDICATES:
        raise InputError(f"a set has at most {_MOST_PREDICATES:,} predicates, not {most:,}")
    if not math.isfinite(sum(read_terms(terms).weights)):
        raise InputError("the counts of the terms are too large to be added", file=str(terms))
    counts = counts_up_to(most)
    tasks = [
        (scenario, partial(_specific_set, scenario, counts, terms, seed, number))
        for scenario in scenarios
        for number in range(sets)
    ]
    is_small = len(tasks) * most < _SMALL
    return _table(tasks, counts, processes or (1 if is_small else None), report)


def general(
    universes: Sequence[int] = UNIVERSES,
    *,
    sets: int = 10,
    seed: int = 0,
    processes: int | None = None,
    report: Report | None = None,
) -> pa.Table:
    """Return α in the general model, for uniform and Zipf distributions, by both readings of "size k"."""
    _check(sets)
    check_at_least(0, seed=seed)
    universes = [*dict.fromkeys(universes)]
    if min(universes, default=0) < SHARE:
        raise InputError(f"a universe has at least {SHARE} messages, of which a predicate selects one in {SHARE}")
    tasks = [
        (f"{distribution}-{messages}", partial(_general_set, Universe(messages, distribution), seed, number))
        for distribution in DISTRIBUTIONS
        for messages in universes
        for number in range(sets)
    ]
    return _table(tasks, GENERAL_COUNTS, processes, report)


def counts_up_to(most: int) -> tuple[int, ...]:
    """Return 1, 2, 5, 10, ... up to a tenth of `most`, and then every tenth of it."""
    powers = [10**power for power in range(len(str(most)))]
    small = [step * power for power in powers for step in (1, 2, 5) if step * power < most / 10]
    return tuple(sorted({*small, *(max(1, most * tenth // 10) for tenth in range(1, 11))}))


def _specific_set(scenario: str, counts: Sequence[int], terms: Path | None, seed: int, number: int) -> Curves:
    names, zipf = SCENARIOS[scenario]
    drawn = predicates(Disjunction2006(max(counts), names, zipf, terms, seed=seed, set=number))
    combined = Predicates(drawn)
    return {rules: combined.advantages(counts, rules) for rules in RULES}


def _general_set(universe: Universe, seed: int, number: int) -> Curves:
    rng = np.random.default_rng([seed, number, universe.messages, DISTRIBUTIONS.index(universe.distribution)])
    size = universe.messages // SHARE
    return {reading: universe.advantages(size, GENERAL_COUNTS, reading, rng) for reading in READINGS}


def _check(sets: int) -> None:
    if sets < 1:
        raise InputError(f"there must be at least one set, not {sets}")
    if sets > _MOST_SETS:
        raise InputError(f"there can be at most {_MOST_SETS:,} sets, not {sets:,}")


def _table(tasks: Sequence[Task], counts: Sequence[int], processes: int | None, report: Report | None) -> pa.Table:
    """Run all tasks; return the percentiles over the sets of each scenario."""
    curves: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    for done, (place, found) in enumerate(_done(tasks, processes), 1):
        for rule, curve in found.items():
            curves[tasks[place][0], rule].append(curve)
        if report is not None:
            report(done, len(tasks))
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


def _done(tasks: Sequence[Task], processes: int | None) -> Iterator[tuple[int, Curves]]:
    """Yield the place and the result of each task, in any order."""
    workers = min(processes or len(os.sched_getaffinity(0)), len(tasks))
    if workers == 1:
        yield from ((place, task()) for place, (_, task) in enumerate(tasks))
        return
    context = get_context("spawn")  # a fork would copy the threads of Arrow in an unknown state
    with ProcessPoolExecutor(workers, context, signal, (SIGINT, SIG_IGN)) as pool:
        futures = {pool.submit(task): place for place, (_, task) in enumerate(tasks)}
        try:
            yield from ((futures[future], future.result()) for future in as_completed(futures))
        except BrokenExecutor:
            raise CbnetError("a process has ended too soon: was there enough memory?") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
