"""Expected: which interfaces are right, for as many messages as there is time?

All messages if the table is small, else a random sample of them; but all interfaces of each.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from cbnet.lab.bench.oracle import Oracle
from cbnet.language.message import Message
from cbnet.matching import reference

if TYPE_CHECKING:
    from cbnet.lab.bench.inputs import Given

ALL = 5_000_000  # filters × messages; one of them takes 1.5 µs
_SAMPLE = 200_000  # filters that are tried for a sample, at 30 µs each, which is mostly to decode them
_MOST = 500  # messages in a sample
_LEAST = 2


@dataclass(frozen=True)
class Expected:
    """The right answers, and what it took to find them."""

    answers: dict[int, list[int]]  # message -> interfaces, in the order of the table
    build_s: float | None = None  # of the reference, if it was asked about all messages
    us_single: float | None = None

    @property
    def deliveries(self) -> int:
        """Return how many interfaces there are in all answers; if there are none, little was checked."""
        return sum(map(len, self.answers.values()))


def expected(given: Given, report: Callable[[str], None]) -> Expected:
    """Ask the reference about the messages, all or some."""
    oracle = Oracle(given.filters)
    if len(given.columns) * len(given.members) <= ALL:
        report("reference: matching all messages")
        return _of_all(oracle, given)
    return _of_sample(oracle, given, report)


def _of_all(oracle: Oracle, given: Given) -> Expected:
    start = perf_counter()
    predicates = oracle.all_predicates()
    built = perf_counter()
    messages = [Message.from_dict(members) for members in given.members]
    begun = perf_counter()
    answers = {place: reference.match(predicates, message) for place, message in enumerate(messages)}
    return Expected(answers, built - start, (perf_counter() - begun) / len(messages) * 1e6)


def _of_sample(oracle: Oracle, given: Given, report: Callable[[str], None]) -> Expected:
    order = random.Random(0).sample(range(len(given.members)), min(_MOST, len(given.members)))
    answers: dict[int, list[int]] = {}
    tried = 0
    for place in order:
        candidates = oracle.candidates(given.members[place])
        tried += len(candidates)
        if tried > _SAMPLE and len(answers) >= _LEAST:
            break
        report(f"reference: matching message {len(answers) + 1} of a sample")
        message = Message.from_dict(given.members[place])
        answers[place] = reference.match(oracle.predicates(candidates), message)
    return Expected(answers)
