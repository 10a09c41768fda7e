"""Expected matches, computed by an oracle that shares no code with the engines.

The oracle decodes the Arrow table of filters itself, for `matching.reference`, and uses nothing that the engines
share (words, columns, encoded messages), so an error there is detected, too.

Trying all filters of a large table is too slow. But a constraint holds only if the message has its
attribute or tag, so only filters whose names all occur in the message, the *candidates*, can match. All of
them are tried, so the answer is complete and distinguishes missed interfaces from spurious ones. All messages are
matched if the table is small, else a random sample; each against all interfaces.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Descriptor, Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.parser import parse_filter
from cbnet.language.values import RESERVED_NAME
from cbnet.matching import reference
from cbnet_lab.bench.bench_input import BenchInput

_VALUES = ("string", "int", "float", "bool")
MAX_PAIRS = 5_000_000  # filters × messages matched in full, at 1.5 µs each
_MAX_SAMPLE_FILTERS = 200_000  # tried for a sample, at 30 µs each, mostly for decoding
_MAX_SAMPLE, _MIN_SAMPLE = 500, 2  # messages


class Oracle:
    """The filters of a generated table, sorted by interface and filter, as values of the language."""

    def __init__(self, filters: pa.Table) -> None:
        self._filters = filters.combine_chunks()
        names = self._filters["name"].combine_chunks()
        self._names = {name: code for code, name in enumerate(names.dictionary.to_pylist())}
        self._codes = names.indices.fill_null(len(self._names)).to_numpy()  # one extra code for no name
        filter = self._filters["filter"].to_numpy()
        self._starts = np.flatnonzero(np.diff(filter, prepend=filter[0] - 1))
        self._ends = np.append(self._starts[1:], len(filter))

    def candidates(self, members: Mapping[str, Any]) -> NDArray[np.int64]:
        """Return the indexes of the filters all of whose names and tags occur in the message."""
        present = np.zeros(len(self._names) + 1, bool)
        own = (*members, *members.get(RESERVED_NAME, ()))
        present[[self._names[name] for name in own if name in self._names]] = True
        present[-1] = True
        return np.flatnonzero(np.logical_and.reduceat(present[self._codes], self._starts))

    def all_predicates(self) -> dict[int, Predicate]:
        """Return the predicate of every interface."""
        return self.predicates(np.arange(len(self._starts)))

    def predicates(self, indexes: NDArray[np.int64]) -> dict[int, Predicate]:
        """Return the predicates of these filters, by interface."""
        lengths = self._ends[indexes] - self._starts[indexes]
        rows = np.repeat(self._starts[indexes] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        columns = self._filters.take(pa.array(rows)).to_pydict()
        filters: dict[int, list[Filter]] = {}
        end = 0
        for length in lengths.tolist():
            first, end = end, end + length
            filter = Filter()
            for row in range(first, end):
                filter &= _part(columns, row)
            filters.setdefault(columns["rule"][first], []).append(filter)
        return {interface: Predicate(group) for interface, group in filters.items()}


def _part(columns: dict[str, list[Any]], row: int) -> Filter:
    if columns["op"][row] is None:
        return Filter()
    if columns["op"][row] == "text":
        return parse_filter(columns["string"][row])
    if columns["op"][row] == "#":
        return Descriptor([columns["name"][row]])
    value = next(columns[kind][row] for kind in _VALUES if columns[kind][row] is not None)
    return Filter([Constraint(columns["name"][row], Op(columns["op"][row]), value)])


@dataclass(frozen=True)
class ExpectedMatches:
    """The correct answers, and the cost of computing them."""

    answers: dict[int, list[int]]  # message -> interfaces, in the order of the table
    build_s: float | None = None  # of the reference, if it matched all messages
    us_single: float | None = None

    @property
    def deliveries(self) -> int:
        """Return the number of interfaces in all answers; with none, the check proves little."""
        return sum(map(len, self.answers.values()))

    def summary(self, messages: int) -> str:
        """Return a one-line summary of the check; messages: their total number."""
        count = "all" if len(self.answers) == messages else f"{len(self.answers):,}"
        return f"The reference matched {count} of {messages:,} messages: {self.deliveries:,} deliveries."


def expected_matches(given: BenchInput, report: Callable[[str], None]) -> ExpectedMatches:
    """Match all messages, or a sample, with the reference."""
    oracle = Oracle(given.filters)
    if len(given.columns) * len(given.members) <= MAX_PAIRS:
        report("reference: matching all messages")
        return _of_all(oracle, given)
    return _of_sample(oracle, given, report)


def _of_all(oracle: Oracle, given: BenchInput) -> ExpectedMatches:
    start = perf_counter()
    predicates = oracle.all_predicates()
    built = perf_counter()
    messages = [Message.from_dict(members) for members in given.members]
    started = perf_counter()
    answers = {index: reference.match(predicates, message) for index, message in enumerate(messages)}
    return ExpectedMatches(answers, built - start, (perf_counter() - started) / len(messages) * 1e6)


def _of_sample(oracle: Oracle, given: BenchInput, report: Callable[[str], None]) -> ExpectedMatches:
    order = random.Random(0).sample(range(len(given.members)), min(_MAX_SAMPLE, len(given.members)))
    answers: dict[int, list[int]] = {}
    tried = 0
    for index in order:
        candidates = oracle.candidates(given.members[index])
        tried += len(candidates)
        if tried > _MAX_SAMPLE_FILTERS and len(answers) >= _MIN_SAMPLE:
            break
        report(f"reference: matching message {len(answers) + 1} of a sample")
        message = Message.from_dict(given.members[index])
        answers[index] = reference.match(oracle.predicates(candidates), message)
    return ExpectedMatches(answers)
