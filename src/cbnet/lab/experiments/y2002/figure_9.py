"""[2002 Figure 9]: how much time do rounds of selectivity save, and when do they cost more than they save?"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import Interval, Row, as_table, grouped, ratio
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.inputs import dictionary
from cbnet.lab.experiments.timing import PIVOT, TIMES, MatchMethod, timed
from cbnet.lab.report.chart import Chart
from cbnet.lab.workload import Forwarding2002

_TURNS_TO_LOSS = (40.0, 90.0)  # what is taken for 50 to 70 rounds


@dataclass(frozen=True)
class Figure9Parameters:
    """Filters of the tables, rounds, messages, and how often each is timed."""

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
    """Return what is gained over 0 rounds, as a share, by filters and rounds."""
    found: dict[int, dict[int, Interval]] = {}
    for (filters,), group in grouped(tables["times"].to_pylist(), "filters").items():
        shares = {rounds: ratio(group, _name(rounds), _name(0)) for rounds in parameters.rounds}
        found[filters] = {rounds: Interval(1 - s.middle, 1 - s.high, 1 - s.low) for rounds, s in shares.items()}
    return found


def _findings(tables: Tables, parameters: Figure9Parameters) -> list[Finding]:
    gains = _gains(tables, parameters)
    return [_turns(gains), _larger(gains)]


def _peak(curve: dict[int, Interval]) -> int:
    return max((rounds for rounds in curve if rounds), key=lambda rounds: curve[rounds].middle)


def _loss(curve: dict[int, Interval]) -> float | None:
    """Return after how many rounds the gain falls below zero for good, on a straight line between two."""
    rounds = [each for each in sorted(curve) if each >= _peak(curve)]
    gainful = [place for place, each in enumerate(rounds) if curve[each].middle > 0]
    if not gainful:
        return float(rounds[0])
    last = gainful[-1]
    if last == len(rounds) - 1:
        return None
    before, after = curve[rounds[last]].middle, curve[rounds[last + 1]].middle
    return rounds[last] + (rounds[last + 1] - rounds[last]) * before / (before - after)


def _turns(gains: dict[int, dict[int, Interval]]) -> Finding:
    told, losses, peaks = [], [], []
    for filters, curve in gains.items():
        peak, loss = _peak(curve), _loss(curve)
        peaks.append(curve[peak].middle)
        losses.append(loss)
        end = f"not up to {max(curve)}" if loss is None else f"from about {loss:.0f} on"
        told.append(f"{filters:,} filters: most {curve[peak].middle:.0%} at {peak} rounds, a loss {end}")
    ours = "; ".join(told)
    if min(peaks) <= 0:
        return Finding(35, ours, "fails", "there is no gain at any number of rounds in one of the tables")
    if any(loss is None for loss in losses):
        return Finding(35, ours, "differs", "it rises and fades, but is not yet a loss at the largest number of rounds")
    if all(_TURNS_TO_LOSS[0] <= loss <= _TURNS_TO_LOSS[1] for loss in losses if loss is not None):
        return Finding(35, ours, "holds")
    reason = "rises, fades and turns into a loss; where it does is a matter of what a round and a counter cost"
    return Finding(35, ours, "differs", reason)


def _larger(gains: dict[int, dict[int, Interval]]) -> Finding:
    most = {filters: curve[_peak(curve)] for filters, curve in gains.items()}
    ours = ", ".join(f"{gain.format('{:.0%}'.format)} at {filters:,} filters" for filters, gain in most.items())
    small, large = most[min(most)], most[max(most)]
    if large.middle > small.middle:
        return Finding(
            36,
            ours,
            "holds" if large.low > small.low else "differs",
            "" if large.low > small.low else "the intervals overlap",
        )
    if large.high > small.low:
        return Finding(36, ours, "open", "the intervals overlap: the difference is within the noise of this machine")
    reason = "a round goes over a bit for each interface: in the larger table these no longer stay in the cache"
    return Finding(36, ours, "fails", reason)


def _charts(tables: Tables, parameters: Figure9Parameters) -> list[Chart]:
    told = [
        {"table": f"{filters:,} filters", "rounds": rounds, "gain": 100 * gain.middle, "low": 100 * gain.low}
        | {"high": 100 * gain.high}
        for filters, curve in _gains(tables, parameters).items()
        for rounds, gain in curve.items()
    ]
    return [
        Chart(
            "figure-9", "Figure 9: what rounds of selectivity gain", as_table(told), "rounds", "gain", series="table",
            x_title="rounds", y_title="% of the time at 0 rounds", bands=(("low", "high"),),
            references=(("no gain", 0.0), *_pivot(tables)),
            description="Gain in per cent over the number of rounds, a line for each table.",
        )
    ]  # fmt: skip


def _pivot(tables: Tables) -> list[tuple[str, float]]:
    """Return what the other engine gains over 0 rounds, in per cent."""
    groups = grouped(tables["times"].to_pylist(), "filters").items()
    return [
        (f"pivot, {filters:,} filters", 100 * (1 - ratio(group, PIVOT.name, _name(0)).middle))
        for (filters,), group in groups
    ]


EXPERIMENT = Experiment(
    name="2002-figure-9",
    title="What rounds of selectivity gain and cost",
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
        "The smaller of the two tables is not given: a fifth of the larger, which has 5 million constraints.",
        "The selectivity table holds its first rows as bits, one for each interface, and the later ones as lists.",
        TIMES,
    ),
)
