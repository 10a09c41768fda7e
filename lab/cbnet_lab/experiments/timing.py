"""Matching times per message, by several methods on the same table and messages.

The methods take turns, and every turn of every method is a row: its best pass over all messages, in CPU time. A
disturbance of the machine affects all methods alike, so ratios within a turn are stable where times are not. First, the
answers of the methods are compared with each other, and for a few messages with the reference. By default tables hold
every filter, including covered ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet.errors import CbnetError
from cbnet.language.message import Message
from cbnet.matching import reference
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.storage.arrow_messages import encode_batch
from cbnet_lab.bench.bench_input import BenchInput, bench_input
from cbnet_lab.bench.matching.engine_rival import EngineAnswer
from cbnet_lab.bench.matching.oracle import Oracle
from cbnet_lab.bench.timing import cpu_of_turns
from cbnet_lab.experiments.curves import Row
from cbnet_lab.experiments.experiment import ExperimentContext, Measure, Parameters
from cbnet_lab.workload import Forwarding2001, Forwarding2002, as_messages

Mix: TypeAlias = Forwarding2001 | Forwarding2002

_CHECKED = 3  # messages per run that are checked against the reference
_UNKNOWN = "in no filter: "  # prefix of the names that no filter has
_TRIED = 3_000  # filters that the reference tries per message, about; 30 µs each


@dataclass(frozen=True)
class MatchMethod:
    """An engine; counting also has rounds of selectivity, and the short-circuit on or off."""

    name: str
    engine: str = "counting"
    rounds: int = 0
    short_circuit: bool = True


CENTRAL = "I = F"  # the label of one interface per filter
COUNTING = MatchMethod("counting")
SELECTIVE = MatchMethod("counting, 10 rounds", rounds=10)
PIVOT = MatchMethod("pivot", "pivot")


class TimedComparison:
    """A table and messages, compiled for the engines of several methods."""

    def __init__(
        self,
        data: BenchInput,
        methods: Sequence[MatchMethod],
        compiled: Mapping[str, CompiledTable] | None = None,
        *,
        reduce: bool = False,
    ) -> None:
        self.input = data
        self.methods = methods
        engines = dict.fromkeys(method.engine for method in methods)
        self.compiled = compiled or {
            engine: CompiledTable.build(data.columns, engine, reduce=reduce) for engine in engines
        }
        encoded = {engine: encode_batch(data.messages, table.symbols) for engine, table in self.compiled.items()}
        self._batches = {engine: batch for engine, (batch, _) in encoded.items()}
        self._buffers = [buffers for _, buffers in encoded.values()]  # the batches point into them

    def match(self, method: MatchMethod) -> tuple[EngineAnswer, Mapping[str, int]]:
        """Match all messages by a method; return the answers and the work counters."""
        compiled, batch = self.compiled[method.engine], self._batches[method.engine]
        if method.engine != "counting":
            offsets, targets, touched = compiled.match_batch(batch)
            return EngineAnswer(offsets, targets), {"postings": touched}
        index = compiled.index.index
        offsets, targets, work = index.match_batch(batch, 0, len(batch), method.rounds, method.short_circuit)
        return EngineAnswer(offsets, targets), work

    def checked(self) -> list[tuple[EngineAnswer, Mapping[str, int]]]:
        """Match all messages by each method, and check the answers."""
        outcomes = [self.match(method) for method in self.methods]
        self._check([answer for answer, _ in outcomes])
        return outcomes

    def rows(self, turns: int, seconds: float) -> list[Row]:
        """Return a row for each method and turn; a turn of a method lasts at least `seconds`."""
        outcomes = self.checked()
        count = len(self.input.members)
        sizes = {
            "filters": len(self.input.columns), "interfaces": len(self.input.columns.interfaces),
            "constraints": len(self.input.columns.words), "messages": count,
        }  # fmt: skip
        answered = [
            {
                "method": method.name,
                "postings": work["postings"] / count,
                "counters": work["counters"] / count if "counters" in work else None,
                "matched": len(answer.targets) / count,
            }
            for method, (answer, work) in zip(self.methods, outcomes, strict=True)
        ]
        times = cpu_of_turns([partial(self.match, method) for method in self.methods], turns, seconds)
        return [
            {**sizes, **answered[number], "turn": turn, "us": spent / count * 1e6}
            for turn, row in enumerate(times)
            for number, spent in enumerate(row)
        ]

    def _check(self, answers: Sequence[EngineAnswer]) -> None:
        if not all(answer.equals(answers[0]) for answer in answers):
            raise CbnetError("the engines disagree on the interfaces of a message")
        columns, members, oracle = self.input.columns, self.input.members, Oracle(self.input.filters)
        for number in random.Random(0).sample(range(len(members)), min(_CHECKED, len(members))):
            candidates = oracle.candidates(members[number])
            owners = columns.targets[candidates]
            parts = min(ceil(max(1, len(candidates)) / _TRIED), len(columns.interfaces))
            tried = candidates[owners % parts == number % parts]  # all filters of each interface that is tried
            expected = reference.match(oracle.predicates(tried), Message.from_dict(members[number]))
            actual = answers[0].targets[answers[0].offsets[number] : answers[0].offsets[number + 1]]
            if actual[actual % parts == number % parts].tolist() != sorted(expected):
                raise CbnetError("an engine disagrees with the reference on the interfaces of a message")


def generated(mix: Mix, context: ExperimentContext) -> BenchInput:
    """Return filters and messages of a workload, drawn with the words and the seed of a run."""
    return bench_input(replace(mix, dictionary=context.dictionary, seed=context.seed), lambda _: None)


def sweep(
    mixes: Sequence[Mix], methods: Sequence[MatchMethod], parameters: Parameters, context: ExperimentContext
) -> Iterator[Row]:
    """Yield the rows of each workload, with its interfaces as `case` and its number of names."""
    for mix in context.track(mixes, lambda mix: f"{mix.F:,} filters"):
        labels = {"case": case(mix), "names": mix.A if isinstance(mix, Forwarding2001) else mix.names}
        for row in TimedComparison(generated(mix, context), methods).rows(parameters.turns, parameters.seconds):
            yield {**labels, **row}


def swept(methods: Sequence[MatchMethod], mixes: Callable[[Parameters], Iterable[Mix]]) -> Measure:
    """Return the function of the table of times, of the workloads of a run."""
    return {"times": lambda parameters, context: sweep([*mixes(parameters)], methods, parameters, context)}


def case(mix: Mix) -> str:
    """Return the label of the number of interfaces of a workload."""
    return CENTRAL if mix.I is None else f"I = {mix.I:,}"


def with_unknown_attributes(data: BenchInput, known: int) -> BenchInput:
    """Return the input with messages in which at most `known` attributes have a name that filters use."""
    names = data.messages.schema.names
    order = np.random.default_rng(0).permutation(len(names))
    columns = [data.messages.column(number) for number in range(len(names))]
    rank = np.cumsum([columns[number].is_valid().to_numpy(zero_copy_only=False) for number in order], axis=0)
    parts: list[tuple[str, pa.Array]] = []
    for step, number in enumerate(order):
        keeps = pa.array(rank[step] <= known)
        column = columns[number]
        parts.append((names[number], pc.if_else(keeps, column, pa.scalar(None, column.type))))
        parts.append((_UNKNOWN + names[number], pc.if_else(keeps, pa.scalar(None, column.type), column)))
    parts.sort(key=lambda part: part[0])
    batch = pa.RecordBatch.from_arrays([column for _, column in parts], [name for name, _ in parts])
    return replace(data, messages=batch, members=as_messages(batch), texts=[])
