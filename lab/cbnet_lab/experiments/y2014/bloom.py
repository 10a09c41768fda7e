"""False positives of Bloom filters of 400 bits, below one in 10^9 according to [2014 §4.2.3].

A descriptor is a false positive if the other tags of the message set all bits of the tags that it lacks. The
probability follows from the numbers of tags and hashes. Rates of 10^-9 cannot be measured, so the prediction is
verified with messages of many tags.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import expm1, log1p

import numpy as np
import pyarrow as pa

from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.report.chart import Chart

_CLAIMED = 1e-9
_PAPER_LARGEST = 1_145_713  # descriptors of the largest predicate
_CLOSE = 3.0  # factor by which measured and predicted rates may differ
_ENOUGH = 20  # false positives; with fewer, the measured rate means little
_RULE = ClaimRule(
    89,
    f"the predicted rate of a predicate of {_PAPER_LARGEST:,} descriptors is below 10^-9 for messages of 1 to 20 "
    f"tags, and measured rates are within a factor of {_CLOSE:g} of predicted ones",
)


@dataclass(frozen=True)
class BloomParameters:
    """Messages of the prediction, and table and messages of the measurement."""

    tags: tuple[int, ...]  # per message, for the prediction
    descriptors: int  # of the measured table
    messages: int
    measured_tags: tuple[int, int]  # per message of the measurement: minimum, maximum


def _run(parameters: BloomParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    return {
        "predicted": as_table(_predicted(parameters)),
        "measured": as_table(_measured(parameters, context.seed)),
    }


def _predicted(parameters: BloomParameters) -> Iterator[Row]:
    """Yield the rates for messages that lack one tag of a descriptor, with the best number of hashes for each size."""
    from cbnet.matching.engines.bloom_table import best_hashes, false_positive

    for tags in parameters.tags:
        hashes = best_hashes([tags])
        one = false_positive(hashes, tags)
        yield {
            "tags": tags,
            "hashes": hashes,
            "per_descriptor": one,
            "per_predicate": -expm1(_PAPER_LARGEST * log1p(-one)),
        }


def _measured(parameters: BloomParameters, seed: int) -> list[Row]:
    """Return the rates of a Bloom table, compared with an exact table of the same descriptors."""
    from cbnet.language.values import RESERVED_NAME
    from cbnet.matching.compiled_table import CompiledTable
    from cbnet.matching.storage.arrow_filters import columns_from_arrow
    from cbnet.matching.storage.arrow_messages import encode_batch
    from cbnet_lab.bench.matching.false_positives import false_positives
    from cbnet_lab.workload.message_batch import as_messages
    from cbnet_lab.workload.tag_traffic import TagTraffic

    traffic = TagTraffic(
        parameters.descriptors, 1, parameters.messages, tags=5_000, in_message=parameters.measured_tags, seed=seed
    )
    batch = traffic.message_batch()
    members = as_messages(batch)
    columns = columns_from_arrow(traffic.filters())
    exact = CompiledTable.build(columns, "tags", reduce=False)
    bloom = CompiledTable.build(columns, "bloom", reduce=False, sample=members[:1000])
    encoded, buffers = encode_batch(batch, bloom.symbols)
    known = [[bloom.symbols.symbol(tag, True) for tag in message[RESERVED_NAME]] for message in members]
    tags = [np.array([symbol for symbol in symbols if symbol >= 0], np.int64) for symbols in known]
    rows = [asdict(each) for each in false_positives(bloom, exact, encoded, tags)]
    del buffers  # the batch points into them
    return [{**row, "hashes": bloom.index.hashes, "descriptors": parameters.descriptors} for row in rows]


def _findings(tables: Tables, _: BloomParameters) -> list[Finding]:
    rows = tables["predicted"].to_pylist()
    limits = {what: _max_tags(rows, what) for what in ("per_descriptor", "per_predicate")}
    ratios = [row["measured_per_descriptor"] / row["predicted_per_descriptor"] for row in _reliable(tables["measured"])]
    ours = (
        f"below 10^-9 for one descriptor up to {limits['per_descriptor']} tags of a message, "
        f"for a predicate of {_PAPER_LARGEST:,} up to {limits['per_predicate']}"
    )
    if not ratios:
        return [_RULE.unmeasured(ours, "too few false positives measured to verify the prediction")]
    ours += f"; measured over predicted: {min(ratios):.2f} to {max(ratios):.2f}"
    if not 1 / _CLOSE <= min(ratios) <= max(ratios) <= _CLOSE:
        return [_RULE.fails(ours, "measured rates differ from predicted ones")]
    if limits["per_predicate"] == max(row["tags"] for row in rows):
        return [_RULE.holds(ours)]
    if not limits["per_predicate"]:
        return [_RULE.fails(ours, "not for a whole predicate, however few tags a message has")]
    return [_RULE.differs(ours, "not for messages of more tags; the paper does not limit them")]


def _max_tags(rows: list[Row], what: str) -> int:
    """Return the largest number of tags up to which all rates are below that of the paper."""
    tags = 0
    for row in sorted(rows, key=lambda row: row["tags"]):
        if row[what] >= _CLAIMED:
            break
        tags = row["tags"]
    return tags


def _reliable(measured: pa.Table) -> list[Row]:
    """Return the rows with enough false positives for a reliable rate."""
    return [
        row
        for row in measured.to_pylist()
        if row["measured_per_descriptor"] * row["messages"] * row["descriptors"] >= _ENOUGH
    ]


def _charts(tables: Tables, _: BloomParameters) -> list[Chart]:
    predicted = [
        {"tags": row["tags"], "rate": row[column], "of": label}
        for row in tables["predicted"].to_pylist()
        for column, label in (("per_descriptor", "one descriptor"), ("per_predicate", "predicate of 1,145,713"))
    ]
    measured = [
        {"tags": row["tags"], "rate": row[f"{kind}_per_descriptor"], "is": kind}
        for row in _reliable(tables["measured"])
        for kind in ("predicted", "measured")
    ]
    charts = [
        Chart(
            "predicted",
            "Predicted false positives of 400 bits, by tags per message",
            as_table(predicted),
            "tags",
            "rate",
            series="of",
            y_log=True,
            x_title="tags of the message",
            y_title="probability",
            references=(("paper: 10^-9", _CLAIMED),),
            description="Probability that a descriptor with one missing tag matches, and that any of a whole predicate "
            "does; with the best number of hashes for each number of tags.",
        )
    ]
    if measured:
        charts.append(
            Chart(
                "measured",
                "Measured false positives of one descriptor",
                as_table(measured),
                "tags",
                "rate",
                series="is",
                y_log=True,
                x_title="tags of the message",
                y_title="probability",
                description="Measured and predicted rates, for messages of many tags.",
            )
        )
    return charts


EXPERIMENT = Experiment(
    name="2014-bloom",
    title="Bloom filters of 400 bits: false positives",
    paper="2014",
    section="§4.2.3",
    claims=(89,),
    scales={
        "quick": BloomParameters(tuple(range(1, 21)), 50_000, 500, (20, 40)),
        "full": BloomParameters(tuple(range(1, 21)), 200_000, 2_000, (20, 40)),
        "paper": BloomParameters(tuple(range(1, 21)), _PAPER_LARGEST, 2_000, (20, 40)),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "The number of hashes is not in the paper: the best one for each number of tags.",
        "Each descriptor lacks one tag of the message, which is the worst case; equal bits are not counted twice.",
        "The paper's rate may be that of a descriptor or of a whole predicate: both are shown.",
    ),
)
