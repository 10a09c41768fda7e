"""Interfaces excluded by the first entries of the selectivity table [2002 §3, §4.3]."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.matching.storage.arrow_messages import encode_batch
from cbnet_lab.experiments.curves import Metrics, Row
from cbnet_lab.experiments.experiment import ExperimentContext, Parameters, Results, Rows, experiment
from cbnet_lab.experiments.timing import COUNTING, TimedComparison, generated
from cbnet_lab.workload import Forwarding2002

_ROUNDS = 10
_PAPER_SHARE = 131 / 200
_BLOCK = 5  # rounds; between single rounds the benefit may rise by chance


def _run(parameters: Parameters, context: ExperimentContext) -> Results:
    context.progress(0, 2, f"{parameters.filters:,} predicates")
    mix = Forwarding2002(M=parameters.messages, F=parameters.filters, I=None)
    comparison = TimedComparison(generated(mix, context), (COUNTING,))
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
    return {"messages": messages, "rounds": rounds, "work": _work(parameters, context)}


def _work(parameters: Parameters, context: ExperimentContext) -> list[Row]:
    """Return, for 0 rounds, the engine's counter updates and the constraints that hold, checked one by one."""
    data = generated(Forwarding2002(M=20, F=parameters.counted, I=None, names=20), context)
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


def _metrics(rows: Rows, _: Parameters) -> Metrics:
    excluded = np.array([row["excluded"] for row in rows["messages"]])
    interfaces = rows["messages"][0]["interfaces"]
    added = [row["excluded"] for row in rows["rounds"]]
    blocks = [sum(added[first : first + _BLOCK]) for first in range(0, len(added) - _BLOCK + 1, _BLOCK)]
    tenth = min(_ROUNDS, len(added))
    wrong = sum(row["held"] != row["counters"] or row["excluded"] != 0 for row in rows["work"])
    return {
        "interfaces": interfaces, "messages": len(excluded), "share": float(excluded.mean() / interfaces),
        "mean": float(excluded.mean()), "median": float(np.median(excluded)), "least": int(excluded.min()),
        "most": int(excluded.max()), "first": added[0], "tenth": tenth, "at_tenth": added[tenth - 1],
        "last": len(added), "at_last": added[-1], "steps": len(blocks) - 1,
        "rises": sum(later >= earlier for earlier, later in pairwise(blocks)), "wrong": wrong,
        "right": len(rows["work"]) - wrong, "checked": len(rows["work"]),
    }  # fmt: skip


def _charts(rows: Rows, _: Parameters) -> dict[str, object]:
    share = _PAPER_SHARE * rows["messages"][0]["interfaces"]
    return {"excluded": {"rows": rows["messages"], "references": (("the paper's share", share),)}}


EXPERIMENT = experiment("2002-selectivity", _run, _metrics, _charts)
