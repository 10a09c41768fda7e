"""Interfaces excluded by the first entries of the selectivity table [2002 §3, §4.3]."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.matching.storage.arrow_messages import encode_batch
from cbnet_lab.bench.bench_input import bench_input
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.inputs import dictionary
from cbnet_lab.experiments.timing import COUNTING, TimedComparison
from cbnet_lab.report.chart import Chart
from cbnet_lab.workload import Forwarding2002

_ROUNDS = 10
_PAPER_SHARE = 131 / 200
_CLOSE = 0.1  # of it
_PAPER_INTERFACES, _ENOUGH = 200_000, 100  # messages
_BLOCK = 5  # rounds; from one to the next, chance may let the benefit rise

_EXCLUDED = ClaimRule(
    21,
    f"with {_PAPER_INTERFACES:,} interfaces, {_PAPER_SHARE * (1 - _CLOSE):.0%} to {_PAPER_SHARE * (1 + _CLOSE):.0%} "
    f"are excluded after {_ROUNDS} rounds, on average over {_ENOUGH} messages or more",
)
_FALLING = ClaimRule(
    27,
    f"each {_BLOCK} rounds exclude fewer interfaces than the {_BLOCK} before, and with 0 rounds one counter is updated "
    "per constraint that holds",
)


@dataclass(frozen=True)
class SelectivityParameters:
    """Predicates of one filter each, messages, rounds, and filters of the table whose work is checked one by one."""

    filters: int = 200_000
    messages: int = 200
    rounds: int = 40
    counted: int = 300


def _run(parameters: SelectivityParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    context.progress(0, 2, f"{parameters.filters:,} predicates")
    mix = Forwarding2002(
        M=parameters.messages, F=parameters.filters, I=None, dictionary=dictionary(context), seed=context.seed
    )
    comparison = TimedComparison(bench_input(mix, lambda _: None), (COUNTING,))
    compiled = comparison.compiled["counting"]
    batch, _buffers = encode_batch(comparison.input.messages, compiled.symbols)
    index = compiled.index.index
    messages = [
        {"message": number, "attributes": len(members), "interfaces": parameters.filters}
        | {"excluded": index.match_batch(batch, number, number + 1, _ROUNDS)[2]["excluded"]}
        for number, members in enumerate(comparison.input.members)
    ]
    added = index.excluded_by_round(batch, 0, len(batch), parameters.rounds)
    rounds = [
        {"round": number, "excluded": count / len(batch)} for number, count in enumerate(np.asarray(added).tolist(), 1)
    ]
    context.progress(1, 2, "checking the work")
    return {"messages": as_table(messages), "rounds": as_table(rounds), "work": as_table(_work(parameters, context))}


def _work(parameters: SelectivityParameters, context: ExperimentContext) -> list[Row]:
    """Return, for 0 rounds, the engine's counter updates and the constraints that hold, checked one by one."""
    mix = Forwarding2002(M=20, F=parameters.counted, I=None, names=20, seed=context.seed)
    data = bench_input(mix, lambda _: None)
    comparison = TimedComparison(data, (COUNTING,))
    index = comparison.compiled["counting"].index.index
    batch, _buffers = encode_batch(data.messages, comparison.compiled["counting"].symbols)
    parts = [Filter([each]) for row in range(len(data.columns)) for each in data.columns.filter(row).constraints]
    rows = []
    for number, members in enumerate(data.members):
        held = sum(part.matches(Message.from_dict(members)) for part in parts)
        work = index.match_batch(batch, number, number + 1, 0, False)[2]
        rows.append({"message": number, "held": held, "counters": work["counters"], "excluded": work["excluded"]})
    return rows


def _findings(tables: Tables, _: SelectivityParameters) -> list[Finding]:
    rows = {name: table.to_pylist() for name, table in tables.items()}
    return [_excluded(rows["messages"]), _rounds(rows["rounds"], rows["work"])]


def _excluded(rows: list[Row]) -> Finding:
    counts = np.array([row["excluded"] for row in rows])
    total = rows[0]["interfaces"]
    share = float(counts.mean() / total)
    ours = (
        f"{counts.mean():,.0f} of {total:,} on average ({share:.1%}), median {np.median(counts):,.0f}, from "
        f"{counts.min():,} to {counts.max():,} over {len(rows)} messages"
    )
    if total < _PAPER_INTERFACES or len(rows) < _ENOUGH:
        return _EXCLUDED.unmeasured(ours, f"{total:,} interfaces and {len(rows)} messages")
    reason = "it depends on the names of the message, and on Zipf's exponent, which is not in the paper"
    return _EXCLUDED.decide(ours, abs(share / _PAPER_SHARE - 1) <= _CLOSE, reason)


def _rounds(rounds: list[Row], work: list[Row]) -> Finding:
    added = [row["excluded"] for row in rounds]
    blocks = [sum(added[first : first + _BLOCK]) for first in range(0, len(added) - _BLOCK + 1, _BLOCK)]
    rises = sum(later >= earlier for earlier, later in pairwise(blocks))
    wrong = sum(row["held"] != row["counters"] or row["excluded"] != 0 for row in work)
    ours = (
        f"round 1 excludes {added[0]:,.0f} interfaces, round {min(_ROUNDS, len(added))} "
        f"{added[min(_ROUNDS, len(added)) - 1]:,.0f}, round {len(added)} {added[-1]:,.0f}; {rises} of "
        f"{len(blocks) - 1} steps from {_BLOCK} rounds to the next {_BLOCK} do not fall; "
        f"with 0 rounds {len(work) - wrong} of {len(work)} messages update one counter per constraint that holds"
    )
    if wrong:
        return _FALLING.fails(ours, "the work of 0 rounds is not that of plain counting")
    return _FALLING.decide(ours, not rises, "the benefit does not fall from round to round")


def _charts(tables: Tables, _: SelectivityParameters) -> list[Chart]:
    return [
        Chart(
            "rounds", "Interfaces excluded by each further round", tables["rounds"], "round", "excluded", kind="bars",
            x_title="round", y_title="interfaces", description="Additional interfaces excluded by each round.",
        ),
        Chart(
            "excluded", "Interfaces excluded after 10 rounds", tables["messages"], "attributes", "excluded",
            kind="points", x_title="attributes of the message", y_title="interfaces",
            references=(("the paper's share", _PAPER_SHARE * tables["messages"].column("interfaces")[0].as_py()),),
            description="Interfaces excluded per message by number of attributes.",
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2002-selectivity",
    title="Interfaces excluded by the selectivity table",
    paper="2002",
    section="§3, §4.3",
    claims=(21, 27),
    scales={
        "quick": SelectivityParameters(),
        "full": SelectivityParameters(messages=1000, counted=1000),
        "paper": SelectivityParameters(messages=1000, counted=1000),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=("Zipf's exponent is not data: 1.", "The paper has one case; ours is the mean over many messages."),
    inputs=("traces",),
)
