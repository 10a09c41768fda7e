"""Timed: how long does a message take, by each way to match it? All ways of a run get the same table and messages.

The ways take turns, and every turn of every way is a row: its best pass over all messages, in the time of the
processor. What disturbs the machine disturbs all ways alike, so their ratios within a turn hold where their times do
not. Before that their answers are compared with each other, and with the
reference for a few messages. Unless told to reduce, tables hold every filter, also those that another one covers.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from time import thread_time
from typing import Any, TypeAlias

from cbnet.errors import CbnetError
from cbnet.lab.bench.bench_input import BenchInput, bench_input
from cbnet.lab.bench.engine_answer import EngineAnswer
from cbnet.lab.bench.oracle import Oracle
from cbnet.lab.workload import WorkloadParameters
from cbnet.language.message import Message
from cbnet.matching import reference
from cbnet.matching.compiled_table import Compiled
from cbnet.matching.storage.arrow_messages import encode_batch

Row: TypeAlias = dict[str, Any]

# What is said under every experiment that measures time.
TIMES = (
    "Times are the processor's, medians over several turns, of batches whose names are looked up before. Other "
    "machines have others: compare shapes and ratios first. Pivot, our own engine, stands beside the papers' counting."
)

_CHECKED = 3  # messages of a run that the reference is asked about
_TRIED = 3_000  # filters that it tries for a message, about; 30 µs each


@dataclass(frozen=True)
class Way:
    """An engine; for counting, with so many rounds of selectivity and with or without the short-circuit."""

    name: str
    engine: str = "counting"
    rounds: int = 0
    short_circuit: bool = True


COUNTING = Way("counting")
SELECTIVE = Way("counting, 10 rounds", rounds=10)
PIVOT = Way("pivot", "pivot")


@dataclass(frozen=True)
class Matched:
    """The answers of one way to all messages, and what it took to find them."""

    answer: EngineAnswer
    work: Mapping[str, int]


class Contest:
    """A table and messages, compiled for all engines of some ways."""

    def __init__(
        self,
        given: BenchInput,
        ways: Sequence[Way],
        compiled: Mapping[str, Compiled] | None = None,
        *,
        reduce: bool = False,
    ) -> None:
        self.given = given
        self.ways = ways
        engines = dict.fromkeys(way.engine for way in ways)
        self.compiled = compiled or {engine: Compiled.build(given.columns, engine, reduce=reduce) for engine in engines}
        encoded = {engine: encode_batch(given.messages, table.symbols) for engine, table in self.compiled.items()}
        self._batches = {engine: batch for engine, (batch, _) in encoded.items()}
        self._kept = [kept for _, kept in encoded.values()]  # what the batches point into

    def with_messages(self, given: BenchInput) -> Contest:
        """Return the same tables with the messages of another."""
        return Contest(given, self.ways, self.compiled)

    def match(self, way: Way) -> Matched:
        """Return what a way finds for all messages."""
        compiled, batch = self.compiled[way.engine], self._batches[way.engine]
        if way.engine != "counting":
            offsets, targets, touched = compiled.match_batch(batch)
            return Matched(EngineAnswer(offsets, targets), {"postings": touched})
        found = compiled.index.index.match_batch(batch, 0, len(batch), way.rounds, way.short_circuit)
        return Matched(EngineAnswer(*found[:2]), found[2])

    def checked(self) -> list[Matched]:
        """Return what each way finds, after it is checked."""
        found = [self.match(way) for way in self.ways]
        self._check([matched.answer for matched in found])
        return found

    def rows(self, turns: int, seconds: float) -> list[Row]:
        """Return a row for each way and turn; a turn of a way lasts at least so many seconds."""
        first = self.checked()
        count = len(self.given.members)
        about = {
            "filters": len(self.given.columns), "interfaces": len(self.given.columns.interfaces),
            "constraints": len(self.given.columns.words), "messages": count,
        }  # fmt: skip
        told = [
            {
                "way": way.name,
                "postings": matched.work["postings"] / count,
                "counters": matched.work["counters"] / count if "counters" in matched.work else None,
                "matched": len(matched.answer.targets) / count,
            }
            for way, matched in zip(self.ways, first, strict=True)
        ]
        times = _times([partial(self.match, way) for way in self.ways], turns, seconds)
        return [
            {**about, **told[place], "turn": turn, "us": spent / count * 1e6}
            for turn, row in enumerate(times)
            for place, spent in enumerate(row)
        ]

    def _check(self, answers: Sequence[EngineAnswer]) -> None:
        if not all(answer.equals(answers[0]) for answer in answers):
            raise CbnetError("the engines do not agree on the interfaces of a message")
        given, oracle = self.given, Oracle(self.given.filters)
        chosen = random.Random(0).sample(range(len(given.members)), min(_CHECKED, len(given.members)))
        for place in chosen:
            candidates = oracle.candidates(given.members[place])
            owners = given.columns.targets[candidates]
            parts = min(ceil(max(1, len(candidates)) / _TRIED), len(given.columns.interfaces))
            tried = candidates[owners % parts == place % parts]  # all filters of each interface that is tried
            right = reference.match(oracle.predicates(tried), Message.from_dict(given.members[place]))
            answer = answers[0].targets[answers[0].offsets[place] : answers[0].offsets[place + 1]]
            if answer[answer % parts == place % parts].tolist() != sorted(right):
                raise CbnetError("an engine does not agree with the reference on the interfaces of a message")


def timed(parameters: WorkloadParameters, ways: Sequence[Way], *, turns: int, seconds: float) -> list[Row]:
    """Return a row for each way and turn on a generated table."""
    return Contest(bench_input(parameters, lambda _: None), ways).rows(turns, seconds)


def _times(ways: Sequence[Callable[[], object]], turns: int, seconds: float) -> list[list[float]]:
    """Return for each turn the seconds of each way: the best of as many passes as take `seconds`."""
    passes = [max(1, ceil(seconds / max(_spent(way), 1e-9))) for way in ways]  # which also warms up
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return [
            [min(_spent(way) for _ in range(count)) for way, count in zip(ways, passes, strict=True)]
            for _ in range(turns)
        ]
    finally:
        if was_enabled:
            gc.enable()


def _spent(way: Callable[[], object]) -> float:
    """Return the processor's seconds, so that what else the machine does is not counted."""
    start = thread_time()
    way()
    return thread_time() - start
