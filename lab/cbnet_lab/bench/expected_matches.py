"""Expected matches, computed by the reference matcher.

All messages are matched if the table is small, else a random sample; each against all interfaces.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from cbnet.language.message import Message
from cbnet.matching import reference
from cbnet_lab.bench.oracle import Oracle

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import BenchInput

MAX_PAIRS = 5_000_000  # filters × messages matched in full, at 1.5 µs each
_MAX_SAMPLE_FILTERS = 200_000  # tried for a sample, at 30 µs each, mostly for decoding
_MAX_SAMPLE, _MIN_SAMPLE = 500, 2  # messages


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
        """Return a line about the check; messages: how many there are."""
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
