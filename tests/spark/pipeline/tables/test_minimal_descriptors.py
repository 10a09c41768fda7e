from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from support.crowds import crowd, minimal, sets_by_node

from cbnet.matching.minimal_sets import TagSets
from cbnet.pipeline.schemas import GROUPED
from cbnet.pipeline.tables import minimal_descriptors as minimal_job
from cbnet.pipeline.tables import subset_queries
from cbnet.pipeline.tables.router_interfaces import Targets
from cbnet.pipeline.tables.subset_queries import spread_queries


def batches_of(rows, size):
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        nodes = pa.array([row[0] for row in part], pa.int32())
        yield pa.RecordBatch.from_arrays([nodes, TagSets.of(row[3] for row in part).to_arrow()], ["node", "tags"])


@pytest.mark.parametrize("held", [1, 50, 1 << 20])
def test_partition_loses_only_redundant_sets_at_any_limit(monkeypatch, held):
    monkeypatch.setattr(minimal_job, "_MAX_HELD", held)
    rows = crowd(8, 500)
    kept = [
        (group, tuple(tags))
        for batch in minimal_job._reduce_input(batches_of(rows, 40), Targets.of_nodes(8))
        for group, tags in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
    ]
    expected = {(node, tags) for node, sets in sets_by_node(rows).items() for tags in minimal(sets)}
    assert expected <= {*kept}
    assert {*kept} <= {(node, tags) for node, sets in sets_by_node(rows).items() for tags in sets}
    if held > len(rows):
        assert sorted(kept) == sorted(expected)


def test_a_node_may_have_several_targets_or_none():
    targets = Targets(np.array([0, 2, 2]), np.array([5, 6], dtype=np.int32), np.array([1, 2], dtype=np.uint64))
    rows = [(0, "", "", [1]), (1, "", "", [2])]
    [batch] = minimal_job._reduce_input(batches_of(rows, 10), targets)
    assert batch.to_pydict() == {"group": [5, 6], "tags": [[1], [1]], "trees": [1, 2]}


def test_a_node_with_very_many_targets_is_expanded_in_parts(monkeypatch):
    monkeypatch.setattr(minimal_job, "_MAX_HELD", 10)
    targets = Targets(np.array([0, 8, 16, 24]), np.arange(24, dtype=np.int32), np.ones(24, dtype=np.uint64))
    rows = [(node, "", "", [node]) for node in (2, 0, 1, 1)]
    parts = [*minimal_job._with_targets(np.array([2, 0, 1, 1]), TagSets.of([row[3] for row in rows]), targets)]
    assert max(map(len, parts)) <= 16
    groups = [group for part in parts for group in part.groups.tolist()]
    assert groups == [*range(16, 24), *range(8), *range(8, 16), *range(8, 16)]


def test_answers_do_not_depend_on_the_size_of_slices(frame, monkeypatch):
    rows = [(node % 2, tags, 1 << node % 3) for node, _, _, tags, _ in crowd(8, 300) if tags]
    sent = spread_queries(frame(rows, GROUPED), 1).select("group", "tags", "trees", "length", "copy")
    batches = sent.toArrow().to_batches(max_chunksize=7)
    answers = []
    for max_bytes in (1, 500, 1 << 20):
        monkeypatch.setattr(subset_queries, "_MAX_BYTES", max_bytes)
        parts = [*minimal_job._answer(iter(batches))]
        merged = defaultdict(lambda: [0, 0])
        for row in (row for part in parts for row in part.to_pylist()):
            both = merged[row["group"], tuple(row["tags"])]
            both[:] = both[0] | row["trees"], both[1] | row["covered"]
        answers.append(merged)
        assert (len(parts) == 1) == (max_bytes == 1 << 20)
    assert answers[0] == answers[1] == answers[2]
    assert {*answers[0]} == {(group, tuple(tags)) for group, tags, _ in rows}
