"""Figure 9 of [2002]: gain and cost of rounds of selectivity."""

from __future__ import annotations

from dataclasses import dataclass

from cbnet_lab.experiments.curves import Metrics, Row, falls_below, gain, grouped
from cbnet_lab.experiments.experiment import ExperimentContext, Results, Rows, experiment
from cbnet_lab.experiments.timing import PIVOT, MatchMethod, TimedParameters, sweep
from cbnet_lab.workload import Forwarding2002


@dataclass(frozen=True, kw_only=True)
class Figure9Parameters(TimedParameters):
    """Filters per table, rounds, messages, and turns of at least `seconds`."""

    filters: tuple[int, ...]
    rounds: tuple[int, ...] = (0, 1, 2, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 100, 150)
    turns: int = 9
    seconds: float = 0.01


def _run(parameters: Figure9Parameters, context: ExperimentContext) -> Results:
    methods = [*(MatchMethod(_name(rounds), rounds=rounds) for rounds in parameters.rounds), PIVOT]
    mixes = [Forwarding2002(M=parameters.messages, F=filters, I=None) for filters in parameters.filters]
    return {"times": sweep(mixes, methods, parameters, context)}


def _name(rounds: int) -> str:
    return f"{rounds} rounds"


def _gains(rows: Rows, parameters: Figure9Parameters) -> dict[int, dict[int, Row]]:
    """Return the gain over 0 rounds, as a share, by filters and rounds."""
    return {
        filters: {rounds: gain(group, _name(rounds), _name(0)) for rounds in parameters.rounds}
        for (filters,), group in grouped(rows["times"], "filters").items()
    }


def _metrics(rows: Rows, parameters: Figure9Parameters) -> Metrics:
    peaks = []
    for filters, curve in _gains(rows, parameters).items():
        peak = max((rounds for rounds in curve if rounds), key=lambda rounds: float(curve[rounds]["gain"]))
        loss = falls_below({rounds: own["gain"] for rounds, own in curve.items() if rounds >= peak}, 0.0)
        end = f"not up to {max(curve)}" if loss is None else f"from about {loss:.0f} on"
        peaks.append({"filters": filters, "rounds": peak, **curve[peak], "loss": loss, "end": end})
    small, large = (end(peaks, key=lambda row: int(row["filters"])) for end in (min, max))
    return {
        "filters": large["filters"], "peaks": peaks, "never": [row for row in peaks if row["loss"] is None],
        "losses": [row for row in peaks if row["loss"] is not None], "lead": large["low"] - small["high"],
        "overlaps": large["low"] <= small["high"] and small["low"] <= large["high"],
    }  # fmt: skip


def _charts(rows: Rows, parameters: Figure9Parameters) -> dict[str, object]:
    points = [
        {"table": f"{filters:,} filters", "rounds": rounds, **{name: 100 * share for name, share in own.items()}}
        for filters, curve in _gains(rows, parameters).items()
        for rounds, own in curve.items()
    ]
    pivots = (
        (f"pivot, {filters:,} filters", 100 * gain(group, PIVOT.name, _name(0))["gain"])
        for (filters,), group in grouped(rows["times"], "filters").items()
    )
    return {"figure-9": {"rows": points, "references": (("no gain", 0.0), *pivots)}}


EXPERIMENT = experiment("2002-figure-9", Figure9Parameters, _run, _metrics, _charts)
