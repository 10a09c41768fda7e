"""[2003 §4.1]: can a table be changed while it is looked up? The speed of both, and when a change is seen."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import pyarrow as pa

from cbnet.lab import workload
from cbnet.lab.bench.matching.updates import bench_updates
from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import Interval, Row, as_table, duration
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.report.chart import Chart
from cbnet.language import Predicate, witness
from cbnet.matching.compiled_table import Compiled
from cbnet.matching.live_table import LiveTable
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.matching.table import Table

_ENOUGH = 0.9  # of the changes that were asked for
_LOW, _AT_LOW_RATES = 5000, 0.5  # changes a second; seconds
_MATCHES_ON = 3.0  # times as long, at most, while changes are made


@dataclass(frozen=True)
class UpdatesParameters:
    """Filters of the table, changes a second, seconds of each run, and changes whose delay is measured."""

    filters: int
    rates: tuple[int, ...] = (100, 10_000)
    seconds: float = 10.0
    seen: int = 200


def _run(parameters: UpdatesParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    rows: list[Row] = []
    for done, rate in enumerate(parameters.rates):
        context.progress(done, len(parameters.rates) + 1, f"{rate:,} changes a second")
        result = bench_updates(parameters.filters, rate, _seconds(rate, parameters), context.seed)
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
    context.progress(len(parameters.rates), len(parameters.rates) + 1, "until a change is seen")
    return {"rates": as_table(rows), "seen": as_table(_seen(parameters, context))}


def _seconds(rate: int, parameters: UpdatesParameters) -> float:
    """Return how long to run: at a low rate not longer than the changes last that `bench_updates` prepares for it."""
    return min(parameters.seconds, _AT_LOW_RATES) if rate < _LOW else parameters.seconds


def _seen(parameters: UpdatesParameters, context: ExperimentContext) -> list[Row]:
    """Return the time from the start of a change until a message that it concerns goes there."""
    mix = workload.mix("2002", filters=parameters.filters, messages=1, seed=context.seed)
    table = LiveTable(Table[int](Compiled.build(columns_from_arrow(workload.filters(mix)))))
    new = columns_from_arrow(workload.filters(workload.mix("2002", filters=parameters.seen, seed=context.seed + 1)))
    rows = []
    for place in range(len(new)):
        added, target = new.filter(place), parameters.filters + place
        message = witness(Predicate([added]))
        if message is None:
            continue
        start = perf_counter()
        table.add(target, added)
        tries = 1
        while target not in table.match(message):
            tries += 1
        rows.append({"change": place, "tries": tries, "us": (perf_counter() - start) * 1e6})
    return rows


def _findings(tables: Tables, _: UpdatesParameters) -> list[Finding]:
    rows, seen = (tables[name].to_pylist() for name in ("rates", "seen"))
    delay = Interval.of([row["us"] for row in seen])
    ours = (
        "; ".join(f"{duration(row['us'])} for a message at {row['made']:,.0f} changes a second" for row in rows)
        + f"; a change is seen after {delay.format(duration)}"
    )
    if not all(row["equal"] for row in rows):
        return [Finding(39, ours, "fails", "an answer is wrong")]
    late = [row for row in rows if row["made"] < _ENOUGH * row["rate"]]
    if late:
        reason = f"{late[-1]['rate']:,} changes a second were not reached"
        return [Finding(39, ours, "differs", reason)]
    busy = max(row["over_idle"] for row in rows)
    if busy <= _MATCHES_ON:
        return [Finding(39, ours, "holds")]
    return [Finding(39, ours, "differs", f"at the highest rate a message takes {busy:.1f} times as long as at rest")]


def _charts(tables: Tables, _: UpdatesParameters) -> list[Chart]:
    told = [{**row, "asked": f"{row['rate']:,}"} for row in tables["rates"].to_pylist()]
    return [
        Chart(
            "updates", "Time of a message while the table changes", as_table(told), "asked", "us", kind="bars",
            x_title="changes a second", y_title="µs for a message",
            description="Time of a message at 0 and more changes of the table a second.",
        )
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2003-updates",
    title="Looking up a table while it changes",
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
        "The paper gives no numbers; it lets changes wait and applies them together. Here a change is seen at once, "
        "and merged into the table in the background.",
        "One thread changes the table and another matches, in one process, so both share one interpreter.",
    ),
)
