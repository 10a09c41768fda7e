"""Figure 9 of [2002]: gain and cost of rounds of selectivity."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Interval, Row, as_table, grouped, ratio
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.inputs import dictionary
from cbnet_lab.experiments.timing import PIVOT, TIMES, MatchMethod, timed
from cbnet_lab.report.chart import Chart, PublishedValue
from cbnet_lab.workload import Forwarding2002

_PAPER_FILTERS = 1_000_000  # with 5 million constraints
_LOSS_ROUNDS = (50, 70)
_NEAR = 10  # rounds

_RISES_AND_FADES = ClaimRule(
    35,
    f"in both tables, the larger of 5 million constraints, some number of rounds gains time, and it turns into a loss "
    f"between {_LOSS_ROUNDS[0] - _NEAR} and {_LOSS_ROUNDS[1] + _NEAR} rounds",
)
_LARGER_GAINS = ClaimRule(
    36, "the 10th percentile of the largest gain of the larger table is above the 90th of the smaller one"
)


@dataclass(frozen=True)
class Figure9Parameters:
    """Filters per table, rounds, messages, and turns of at least `seconds`."""

    filters: tuple[int, ...]
    rounds: tuple[int, ...] = (0, 1, 2, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 100, 150)
    messages: int = 100
    turns: int = 9
    seconds: float = 0.01


def _run(parameters: Figure9Parameters, context: ExperimentContext) -> dict[str, pa.Table]:
    methods = [*(MatchMethod(_name(rounds), rounds=rounds) for rounds in parameters.rounds), PIVOT]
    rows: list[Row] = []
    for done, filters in enumerate(parameters.filters):
        context.progress(done, len(parameters.filters), f"{filters:,} filters")
        mix = Forwarding2002(
            M=parameters.messages, F=filters, I=None, dictionary=dictionary(context), seed=context.seed
        )
        rows += timed(mix, methods, turns=parameters.turns, seconds=parameters.seconds)
    return {"times": as_table(rows)}


def _name(rounds: int) -> str:
    return f"{rounds} rounds"


def _gains(tables: Tables, parameters: Figure9Parameters) -> dict[int, dict[int, Interval]]:
    """Return the gain over 0 rounds, as a share, by filters and rounds."""
    gains: dict[int, dict[int, Interval]] = {}
    for (filters,), group in grouped(tables["times"].to_pylist(), "filters").items():
        shares = {rounds: ratio(group, _name(rounds), _name(0)) for rounds in parameters.rounds}
        gains[filters] = {rounds: Interval(1 - s.middle, 1 - s.high, 1 - s.low) for rounds, s in shares.items()}
    return gains


def _findings(tables: Tables, parameters: Figure9Parameters) -> list[Finding]:
    gains = _gains(tables, parameters)
    return [_turns(gains), _larger(gains)]


def _peak(curve: dict[int, Interval]) -> int:
    return max((rounds for rounds in curve if rounds), key=lambda rounds: curve[rounds].middle)


def _loss(curve: dict[int, Interval]) -> float | None:
    """Return the number of rounds from which the gain stays below zero, by linear interpolation."""
    rounds = [each for each in sorted(curve) if each >= _peak(curve)]
    gainful = [number for number, each in enumerate(rounds) if curve[each].middle > 0]
    if not gainful:
        return float(rounds[0])
    last = gainful[-1]
    if last == len(rounds) - 1:
        return None
    before, after = curve[rounds[last]].middle, curve[rounds[last + 1]].middle
    return rounds[last] + (rounds[last + 1] - rounds[last]) * before / (before - after)


def _turns(gains: dict[int, dict[int, Interval]]) -> Finding:
    texts, losses, peaks = [], [], []
    for filters, curve in gains.items():
        peak, loss = _peak(curve), _loss(curve)
        peaks.append(curve[peak].middle)
        losses.append(loss)
        end = f"not up to {max(curve)}" if loss is None else f"from about {loss:.0f} on"
        texts.append(f"{filters:,} filters: at most {curve[peak].middle:.0%} at {peak} rounds, a loss {end}")
    ours = "; ".join(texts)
    if max(gains) < _PAPER_FILTERS:
        return _RISES_AND_FADES.unmeasured(ours, f"the larger table has {max(gains):,} filters")
    if min(peaks) <= 0:
        return _RISES_AND_FADES.fails(ours, "one of the tables has no gain at any number of rounds")
    if any(loss is None for loss in losses):
        return _RISES_AND_FADES.fails(ours, "it rises and fades, but is no loss at the largest number of rounds")
    low, high = _LOSS_ROUNDS[0] - _NEAR, _LOSS_ROUNDS[1] + _NEAR
    is_near = all(low <= loss <= high for loss in losses if loss is not None)
    reason = (
        "it rises, fades and turns into a loss, but elsewhere: that depends on the cost of a round and of a counter"
    )
    return _RISES_AND_FADES.decide(ours, is_near, reason)


def _larger(gains: dict[int, dict[int, Interval]]) -> Finding:
    peaks = {filters: curve[_peak(curve)] for filters, curve in gains.items()}
    ours = ", ".join(f"{gain.format('{:.0%}'.format)} at {filters:,} filters" for filters, gain in peaks.items())
    small, large = peaks[min(peaks)], peaks[max(peaks)]
    if max(gains) < _PAPER_FILTERS:
        return _LARGER_GAINS.unmeasured(ours, f"the larger table has {max(gains):,} filters")
    if large.low > small.high:
        return _LARGER_GAINS.holds(ours)
    if large.high < small.low:
        reason = "a round reads one bit per interface, and those of the larger table do not fit the cache"
        return _LARGER_GAINS.fails(ours, reason)
    return _LARGER_GAINS.open(ours, "the intervals overlap: the difference is within the noise of this machine")


def _charts(tables: Tables, parameters: Figure9Parameters) -> list[Chart]:
    points = [
        {"table": f"{filters:,} filters", "rounds": rounds, "gain": 100 * gain.middle, "low": 100 * gain.low}
        | {"high": 100 * gain.high}
        for filters, curve in _gains(tables, parameters).items()
        for rounds, gain in curve.items()
    ]
    return [
        Chart(
            "figure-9", "Figure 9: gain of rounds of selectivity", as_table(points), "rounds", "gain", series="table",
            x_title="rounds", y_title="% of the time at 0 rounds", bands=(("low", "high"),),
            references=(("no gain", 0.0), *_pivot(tables)),
            published=(PublishedValue("a loss after 50", 50, 0.0), PublishedValue("to 70 rounds", 70, 0.0)),
            description="Gain in per cent by number of rounds, a line for each table.",
        )
    ]  # fmt: skip


def _pivot(tables: Tables) -> list[tuple[str, float]]:
    """Return the gain of the pivot engine over 0 rounds, in per cent."""
    groups = grouped(tables["times"].to_pylist(), "filters").items()
    return [
        (f"pivot, {filters:,} filters", 100 * (1 - ratio(group, PIVOT.name, _name(0)).middle))
        for (filters,), group in groups
    ]


EXPERIMENT = Experiment(
    name="2002-figure-9",
    title="Gain and cost of rounds of selectivity",
    paper="2002",
    section="§5.3, Figure 9",
    claims=(35, 36),
    scales={
        "quick": Figure9Parameters((20_000, 100_000), (0, 1, 2, 5, 10, 20, 30, 50, 70, 100, 150)),
        "full": Figure9Parameters((200_000, 1_000_000)),
        "paper": Figure9Parameters((200_000, 1_000_000), turns=25),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "The size of the smaller table is not in the paper: a fifth of the larger, which has 5 million constraints.",
        "The selectivity table stores its first rows as bits, one per interface, and later rows as lists.",
        TIMES,
    ),
    inputs=("traces",),
)
