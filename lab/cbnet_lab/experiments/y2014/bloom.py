"""False positives of Bloom filters of 400 bits, below one in 10^9 according to [2014 §4.2.3].

A descriptor is a false positive if the other tags of the message set all bits of the tags that it lacks. The
probability follows from the numbers of tags and hashes. Rates of 10^-9 cannot be measured, so the prediction is
verified with messages of many tags.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from math import expm1, log1p

from cbnet_lab.experiments.curves import Metrics, Row
from cbnet_lab.experiments.experiment import ExperimentContext, Parameters, Rows, experiment

_CLAIMED = 1e-9
_PAPER_LARGEST = 1_145_713  # descriptors of the largest predicate
_ENOUGH = 20  # false positives; with fewer, the measured rate means little


def _predicted(parameters: Parameters, _: ExperimentContext) -> Iterator[Row]:
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


def _measured(parameters: Parameters, context: ExperimentContext) -> list[Row]:
    """Return the rates of a Bloom table, compared with an exact table of the same descriptors."""
    from cbnet.matching.compiled_table import CompiledTable
    from cbnet.matching.storage.arrow_filters import columns_from_arrow
    from cbnet.matching.storage.arrow_messages import encode_batch
    from cbnet_lab.bench.matching.tags import false_positives
    from cbnet_lab.workload.message_batch import as_messages
    from cbnet_lab.workload.tag_traffic import TagTraffic

    traffic = TagTraffic(
        parameters.descriptors,
        1,
        parameters.messages,
        tags=5_000,
        in_message=parameters.measured_tags,
        seed=context.seed,
    )
    batch = traffic.message_batch()
    members = as_messages(batch)
    columns = columns_from_arrow(traffic.filters())
    exact = CompiledTable.build(columns, "tags", reduce=False)
    bloom = CompiledTable.build(columns, "bloom", reduce=False, sample=members[:1000])
    encoded, buffers = encode_batch(batch, bloom.symbols)
    rows = [asdict(each) for each in false_positives(bloom, exact, encoded, members)]
    del buffers  # the batch points into them
    return [{**row, "hashes": bloom.index.hashes, "descriptors": parameters.descriptors} for row in rows]


def _metrics(rows: Rows, _: Parameters) -> Metrics:
    ratios = [row["measured_per_descriptor"] / row["predicted_per_descriptor"] for row in _reliable(rows["measured"])]
    limit = _max_tags(rows["predicted"], "per_predicate")
    return {
        "tags_of_descriptor": _max_tags(rows["predicted"], "per_descriptor"), "tags_of_predicate": limit,
        "untested_tags": max(row["tags"] for row in rows["predicted"]) - limit, "reliable": len(ratios),
        "ratios": [{"ratio": ratio} for ratio in ratios],
        "range": [{"least": min(ratios), "most": max(ratios)}] if ratios else [],
    }  # fmt: skip


def _max_tags(rows: list[Row], what: str) -> int:
    """Return the largest number of tags up to which all rates are below that of the paper."""
    tags = 0
    for row in sorted(rows, key=lambda row: row["tags"]):
        if row[what] >= _CLAIMED:
            break
        tags = row["tags"]
    return tags


def _reliable(measured: list[Row]) -> list[Row]:
    """Return the rows with enough false positives for a reliable rate."""
    return [row for row in measured if row["measured_per_descriptor"] * row["messages"] * row["descriptors"] >= _ENOUGH]


EXPERIMENT = experiment(
    "2014-bloom", {"predicted": _predicted, "measured": _measured}, _metrics,
    lambda rows, _: {"measured": _reliable(rows["measured"])},
)  # fmt: skip
