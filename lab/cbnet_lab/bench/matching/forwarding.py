"""The forwarding benchmark: time per message of each engine.

All engines of a run get the same filters and messages and must agree with each other, and with the
reference on all messages or a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cbnet.matching.engines.registry import CountingOptions
from cbnet_lab.bench.bench_input import BenchInput, Report, bench_input
from cbnet_lab.bench.engine_result import EngineResult
from cbnet_lab.bench.expected_matches import ExpectedMatches, expected_matches
from cbnet_lab.bench.rival import Rival

if TYPE_CHECKING:
    from cbnet_lab.bench.engine_answer import EngineAnswer
    from cbnet_lab.workload import WorkloadParameters


_DEFAULTS = CountingOptions()


@dataclass(frozen=True)
class ForwardingOutcome:
    """The results of a run, one per engine, and the expected answers."""

    results: list[EngineResult]
    messages: int
    expected: ExpectedMatches


def forwarding(
    parameters: WorkloadParameters,
    engines: Sequence[str],
    seconds: float,
    report: Report,
    conditions: float = 0.0,
    counting: CountingOptions = _DEFAULTS,
) -> ForwardingOutcome:
    """Measure engines on a workload; a measurement lasts at least `seconds`.

    conditions: the share of filters that have a condition.
    counting: options of the counting engine; the comparison of processes always has the defaults.
    """
    given = bench_input(parameters, report, conditions)
    expected = expected_matches(given, report)
    results: list[EngineResult] = []
    first: EngineAnswer | None = None
    for engine in engines:
        rival = Rival(engine, given, report, counting)
        first = first or rival.answer
        results.append(rival.result(expected, first, seconds, report))
    if expected.us_single is not None:
        results.append(_reference(given, expected))
    return ForwardingOutcome(results, len(given.members), expected)


def _reference(given: BenchInput, expected: ExpectedMatches) -> EngineResult:
    """Return the measurements of the reference, which has no file, batches or threads."""
    assert expected.build_s is not None
    assert expected.us_single is not None
    return EngineResult(
        engine="reference",
        filters=len(given.columns),
        interfaces=len(given.columns.interfaces),
        constraints=len(given.columns.words),
        build_s=expected.build_s,
        bytes_per_constraint=None,
        us_single=expected.us_single,
        us_batch=None,
        us_batch_2threads=None,
        us_json_loads=None,
        touched=None,
        matched=expected.deliveries / len(given.members),
        equal=True,  # to itself; differences are reported for the engines
    )
