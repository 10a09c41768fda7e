from collections import defaultdict

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812

from cbnet.pipeline.tables.subset_queries import first_copies, slices, spread_queries, stored_rows

SETS = "group int, tags array<int>"


def queries(frame, rows, load=None, partitions=1):
    sets = frame(rows, SETS)
    return spread_queries(sets, partitions, None if load is None else F.lit(load)).collect()


def test_set_is_stored_at_its_rarest_tag_and_queries_the_others(frame):
    rows = [row.asDict() for row in queries(frame, [(0, [40, 50, 90])])]
    assert rows == [{"group": 0, "tags": [40, 50, 90], "length": length, "copy": 0} for length in (1, 2, 3)]


def test_stored_sets_come_before_the_queries_of_their_group_and_tag(frame):
    rows = queries(frame, [(1, [4, 9]), (0, [4]), (1, [4]), (0, [2, 4, 7]), (0, [1, 4])])
    places = [(row.group, row.tags[row.length - 1], row.length < len(row.tags)) for row in rows]
    assert places == sorted(places)
    assert (0, 4, False) in places
    assert (0, 4, True) in places


def test_sets_of_frequent_tags_are_stored_in_all_copies_and_query_one(frame):
    rows = queries(frame, [(0, [2, 4]), (0, [2])], load=12.0)
    copies = defaultdict(list)
    for row in rows:
        copies[tuple(row.tags), row.length].append(row.copy)
    assert sorted(copies[(2,), 1]) == [*range(8)]  # 12 * 4 / (2 + 4)
    assert sorted(copies[(2, 4), 2]) == [*range(6)]  # 12 * 4 / (4 + 4)
    [asked] = copies[(2, 4), 1]
    assert asked in range(8)


def test_rare_tags_and_groups_without_load_have_one_copy(frame):
    rows = queries(frame, [(0, [100])], load=12.0)
    assert [row.copy for row in rows] == [0]
    sets = frame([(0, [0])], SETS).withColumn("load", F.lit(None).cast("double"))
    assert [row.copy for row in spread_queries(sets, 3, F.col("load")).collect()] == [0]


def batches(rows, size):
    """Return batches of (group, tags, length)."""
    columns = {"group": pa.int32(), "tags": pa.list_(pa.int32()), "length": pa.int32(), "copy": pa.int32()}
    for start in range(0, len(rows), size):
        part = [[*row, 0] for row in rows[start : start + size]]
        arrays = [
            pa.array(column, type) for column, type in zip(zip(*part, strict=True), columns.values(), strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, [*columns])


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("max_bytes", [1, 200, 1 << 20])
def test_every_query_is_in_one_slice_with_all_stored_sets_of_its_group_and_tag(size, max_bytes):
    stored = {(0, 4): [[4], [1, 4], [2, 4]], (0, 9): [[9]], (1, 4): [], (1, 5): [[5], [3, 5]]}
    asked = {(0, 4): 40, (0, 9): 0, (1, 4): 7, (1, 5): 30}
    rows = []
    for group, tag in sorted(stored):
        rows += [(group, tags, len(tags)) for tags in stored[group, tag]]
        rows += [(group, [tag, 100 + number], 1) for number in range(asked[group, tag])]
    seen, once = [], []
    parts = [*slices(batches(rows, size), max_bytes)]
    for part in parts:
        is_stored, first = stored_rows(part), first_copies(part)
        held = defaultdict(list)
        for row, whole, new in zip(part.to_pylist(), is_stored, first, strict=True):
            key = row["group"], row["tags"][row["length"] - 1]
            if whole:
                held[key].append(row["tags"])
                once += [row["tags"]] * bool(new)
            else:
                seen.append((row["group"], row["tags"]))
                assert held[key] == stored[key]
    assert seen == [(group, tags) for group, tags, length in rows if length < len(tags)]
    assert sorted(once) == sorted(tags for sets in stored.values() for tags in sets)
    assert len(parts) > 3 or max_bytes == 1 << 20 or size == 100


def test_slices_of_nothing_are_none():
    assert [*slices(iter([]))] == []
