import numpy as np
import pyarrow as pa

from cbnet.matching.storage import tag_sets
from cbnet.matching.storage.tag_sets import TagSets

ROWS = [[1, 4], [4], [2, 4, 9], []]


def test_sets_are_read_back():
    sets = TagSets.of(ROWS)
    assert sets.offsets.tolist() == [0, 2, 3, 6, 6]
    assert sets.tags.tolist() == [1, 4, 4, 2, 4, 9]
    assert sets.to_lists() == ROWS
    assert sets.sizes.tolist() == [2, 1, 3, 0]
    assert sets.rows.tolist() == [0, 0, 1, 2, 2, 2]


def test_tags_are_sorted():
    assert TagSets.of([[9, 2, 4]]).to_lists() == [[2, 4, 9]]


def test_arrow_columns_are_read_whole_and_in_part():
    column = pa.array(ROWS, pa.list_(pa.int32()))
    assert TagSets.from_arrow(column).to_lists() == ROWS
    assert TagSets.from_arrow(column.slice(1, 2)).to_lists() == ROWS[1:3]
    assert TagSets.from_arrow(column.slice(4)).to_lists() == []
    assert TagSets.of(ROWS).to_arrow().equals(column)


def test_lists_have_64_bit_offsets_where_32_bits_are_too_small(monkeypatch):
    monkeypatch.setattr(tag_sets, "_MAX_INT32", 5)
    large = TagSets.of(ROWS).to_arrow()
    assert large.equals(pa.array(ROWS, pa.large_list(pa.int32())))
    assert TagSets.from_arrow(large).to_lists() == ROWS


def test_rows_are_taken_in_any_order_and_again():
    assert TagSets.of(ROWS).take(np.array([2, 0, 2, 3])).to_lists() == [[2, 4, 9], [1, 4], [2, 4, 9], []]


def test_prefixes_are_the_first_tags():
    assert TagSets.of(ROWS).prefixes(np.array([1, 1, 2, 0])).to_lists() == [[1], [4], [2, 4], []]


def test_collections_are_concatenated():
    assert TagSets.concatenate([TagSets.of(ROWS), TagSets.of([]), TagSets.of([[7]])]).to_lists() == [*ROWS, [7]]
    assert len(TagSets.concatenate([])) == 0
