"""Updates of a table during look-ups [2003 §4.1]: the speed of both, and the delay until a change takes effect."""

from __future__ import annotations

from time import perf_counter

from cbnet.language import Predicate, witness
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.live_table import LiveTable
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.matching.table import Table
from cbnet_lab import workload
from cbnet_lab.bench.matching.updates import run as run_updates
from cbnet_lab.bench.plans import UpdatesPlan
from cbnet_lab.experiments.curves import Metrics, Row, interval
from cbnet_lab.experiments.experiment import ExperimentContext, Parameters, Results, Rows, experiment

_LOW, _AT_LOW_RATES = 5000, 0.5  # changes per second; seconds


def _run(parameters: Parameters, context: ExperimentContext) -> Results:
    rows: list[Row] = []
    for done, rate in enumerate(parameters.rates):
        context.progress(done, len(parameters.rates) + 1, f"{rate:,} changes per second")
        # At a low rate, the benchmark's prepared changes do not last long.
        seconds = min(parameters.seconds, _AT_LOW_RATES) if rate < _LOW else parameters.seconds
        plan = UpdatesPlan(parameters.filters, rate, seconds, context.seed)
        (result,) = run_updates(plan, lambda _: None)
        if not rows:
            rows.append(
                {"rate": 0, "made": 0.0, "us": result.us_match_idle, "equal": True, "checks": 0, "over_idle": 1.0}
            )
        rows.append(
            {
                "rate": rate, "made": result.updates_per_second, "us": result.us_match_busy, "equal": result.equal,
                "checks": result.checks, "over_idle": result.us_match_busy / result.us_match_idle,
            }
        )  # fmt: skip
    context.progress(len(parameters.rates), len(parameters.rates) + 1, "delay of changes")
    return {"rates": rows, "delays": _delays(parameters, context)}


def _delays(parameters: Parameters, context: ExperimentContext) -> list[Row]:
    """Return the time from the start of a change until a message matches the new filter."""
    mix = workload.mix("2002", filters=parameters.filters, messages=1, seed=context.seed)
    table = LiveTable(Table[int](CompiledTable.build(columns_from_arrow(workload.filters(mix)))))
    new = columns_from_arrow(workload.filters(workload.mix("2002", filters=parameters.delays, seed=context.seed + 1)))
    rows = []
    for number in range(len(new)):
        added, target = new.filter(number), parameters.filters + number
        message = witness(Predicate([added]))
        if message is None:
            continue
        start = perf_counter()
        table.add(target, added)
        tries = 1
        while target not in table.match(message):
            tries += 1
        rows.append({"change": number, "tries": tries, "us": (perf_counter() - start) * 1e6})
    return rows


def _metrics(rows: Rows, _: Parameters) -> Metrics:
    changing = [{**row, "share": row["made"] / row["rate"]} for row in rows["rates"] if row["rate"]]
    return {
        "rates": rows["rates"],
        "changing": changing,
        "wrong": sum(not row["equal"] for row in rows["rates"]),
        "delay": interval([row["us"] for row in rows["delays"]]),
        "over_idle": max(row["over_idle"] for row in rows["rates"]),
    }


EXPERIMENT = experiment("2003-updates", _run, _metrics)
