"""The forwarding benchmark: how fast does each engine find the interfaces of a message?

All engines of a run get the same filters and messages, must give the same answers, and those of the
reference where there is time to ask it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cbnet.lab.bench.expected import Expected, expected
from cbnet.lab.bench.inputs import Given, Report, make
from cbnet.lab.bench.result import Result
from cbnet.lab.bench.rival import Rival

if TYPE_CHECKING:
    from cbnet.lab.bench.answer import Answer
    from cbnet.lab.workload import WorkloadParameters


@dataclass(frozen=True)
class Outcome:
    """The results of a run, an engine each, and what they were checked with."""

    results: list[Result]
    messages: int
    expected: Expected


def forwarding(parameters: WorkloadParameters, engines: Sequence[str], seconds: float, report: Report) -> Outcome:
    """Measure engines on a workload; a measurement lasts at least `seconds`."""
    given = make(parameters, report)
    right = expected(given, report)
    results: list[Result] = []
    first: Answer | None = None
    for engine in engines:
        rival = Rival(engine, given, report)
        first = first or rival.answer
        results.append(rival.result(right, first, seconds, report))
    if right.us_single is not None:
        results.append(_reference(given, right))
    return Outcome(results, len(given.members), right)


def _reference(given: Given, right: Expected) -> Result:
    """Return what was measured of the reference, which has no file, no batches and no threads."""
    assert right.build_s is not None
    assert right.us_single is not None
    return Result(
        engine="reference",
        filters=len(given.columns),
        interfaces=len(given.columns.interfaces),
        constraints=len(given.columns.words),
        build_s=right.build_s,
        bytes_per_constraint=None,
        us_single=right.us_single,
        us_batch=None,
        us_batch_2threads=None,
        us_json_loads=None,
        touched=None,
        matched=right.deliveries / len(given.members),
        equal=True,  # to itself: where an engine differs, the engine says so
    )
