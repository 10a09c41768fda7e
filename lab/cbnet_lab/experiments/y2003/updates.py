"""Updates of a table during look-ups [2003 §4.1]: the speed of both, and the delay until a change takes effect."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import pyarrow as pa

from cbnet.language import Predicate, witness
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.live_table import LiveTable
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.matching.table import Table
from cbnet_lab import workload
from cbnet_lab.bench.matching.updates import run as run_updates
from cbnet_lab.bench.plans import UpdatesPlan
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Interval, Row, as_table, duration
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.report.chart import Chart

_ENOUGH = 0.9  # of the requested changes
_LOW, _AT_LOW_RATES = 5000, 0.5  # changes per second; seconds
_MAX_SLOWDOWN = 3.0  # while the table changes
_MAX_DELAY_US = 10_000

_MANAGEABLE = ClaimRule(
    39,
    f"right answers, at least {_ENOUGH:.0%} of the requested changes, messages at most {_MAX_SLOWDOWN:.0f} times "
    f"slower, and half of the changes effective within {_MAX_DELAY_US // 1000} ms; the paper has no numbers",
)


@dataclass(frozen=True)
class UpdatesParameters:
    """Filters of the table, changes per second, seconds per run, and changes whose delay is measured."""

    filters: int
    rates: tuple[int, ...] = (100, 10_000)
    seconds: float = 10.0
    delays: int = 200


def _run(parameters: UpdatesParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    rows: list[Row] = []
    for done, rate in enumerate(parameters.rates):
        context.progress(done, len(parameters.rates) + 1, f"{rate:,} changes per second")
        plan = UpdatesPlan(parameters.filters, rate, _seconds(rate, parameters), context.seed)
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
    return {"rates": as_table(rows), "delays": as_table(_delays(parameters, context))}


def _seconds(rate: int, parameters: UpdatesParameters) -> float:
    """Return the duration of a run: at a low rate no longer than the changes that the benchmark prepares last."""
    return min(parameters.seconds, _AT_LOW_RATES) if rate < _LOW else parameters.seconds


def _delays(parameters: UpdatesParameters, context: ExperimentContext) -> list[Row]:
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


def _findings(tables: Tables, _: UpdatesParameters) -> list[Finding]:
    rows, delays = (tables[name].to_pylist() for name in ("rates", "delays"))
    delay = Interval.of([row["us"] for row in delays])
    ours = (
        "; ".join(f"{duration(row['us'])} per message at {row['made']:,.0f} changes per second" for row in rows)
        + f"; a change takes effect after {delay.format(duration)}"
    )
    if not all(row["equal"] for row in rows):
        return [_MANAGEABLE.fails(ours, "wrong answers")]
    late = [row for row in rows if row["made"] < _ENOUGH * row["rate"]]
    if late:
        reason = f"{late[-1]['rate']:,} changes per second were not reached"
        return [_MANAGEABLE.fails(ours, reason)]
    if delay.middle > _MAX_DELAY_US:
        return [_MANAGEABLE.fails(ours, "changes take effect too late")]
    busy = max(row["over_idle"] for row in rows)
    reason = f"{busy:.1f} times slower at the highest rate than without changes"
    return [_MANAGEABLE.decide(ours, busy <= _MAX_SLOWDOWN, reason)]


def _charts(tables: Tables, _: UpdatesParameters) -> list[Chart]:
    labelled = [{**row, "requested": f"{row['rate']:,}"} for row in tables["rates"].to_pylist()]
    return [
        Chart(
            "updates", "Time per message while the table changes", as_table(labelled), "requested", "us", kind="bars",
            x_title="changes per second", y_title="µs per message",
            description="Time per message by changes of the table per second.",
        )
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2003-updates",
    title="Look-ups while the table changes",
    paper="2003",
    section="§4.1",
    claims=(39,),
    scales={
        "quick": UpdatesParameters(20_000, seconds=2.0),
        "full": UpdatesParameters(200_000),
        "paper": UpdatesParameters(1_000_000, seconds=60.0),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "The paper has no numbers; it queues changes and applies them together. Here a change takes effect at once "
        "and is merged into the table in the background.",
        "One thread changes the table and another matches, in one process, so both share one interpreter.",
    ),
)
