import pytest

from cbnet.errors import LimitError
from cbnet.matching import Table
from cbnet.pipeline.schemas import FIB, TAGS
from cbnet.pipeline.tables.compiled_tables import compile_tables

TAG_ROWS = [("jazz", 0, 9), ("vinyl", 1, 5), ("odd name, #1", 2, 1)]
TABLE = [(0, 7, 1, [0, 1]), (0, 7, 2, [2]), (0, 7, 2, [1, 3]), (0, 8, 5, [0])]


def test_compiled_tables_match_like_their_descriptors(frame, tmp_path):
    paths = compile_tables(frame(TABLE, FIB), [8, 7], tmp_path, tags=frame(TAG_ROWS, TAGS))
    assert paths == [tmp_path / "8.cbt", tmp_path / "7.cbt"]
    table = Table.open(paths[1], verify=True)
    assert table.match({"#": ["jazz"]}) == []
    assert table.match({"#": ["jazz", "vinyl", "more"]}) == [1]
    assert sorted(table.match({"#": ["jazz", "vinyl", "odd name, #1"]})) == [1, 2]
    assert table.match({"#": ["vinyl", "tag 3"]}) == [2]  # 3 is in no dictionary
    assert Table.open(paths[0]).match({"#": ["jazz"]}) == [5]


def test_folded_table_requires_the_tree_only_where_trees_differ(frame, tmp_path):
    rows = [(None, 7, 1, [0]), (0, 7, 2, [1]), (1, 7, 3, [1])]
    [path] = compile_tables(frame(rows, FIB), [7], tmp_path, folded=True)
    table = Table.open(path)
    assert sorted(table.match({"#": ["tag 0", "tag 1", "tree 1"]})) == [1, 2]
    assert sorted(table.match({"#": ["tag 0", "tag 1", "tree 2"]})) == [1, 3]


def test_a_router_without_descriptors_has_an_empty_table(frame, tmp_path):
    [path] = compile_tables(frame(TABLE, FIB), [9], tmp_path)
    assert Table.open(path).match({"#": ["tag 0"]}) == []


def test_too_many_descriptors_are_refused(frame, tmp_path):
    with pytest.raises(LimitError, match="4 is over the limit of 3"):
        compile_tables(frame(TABLE, FIB), [7, 8], tmp_path, max_descriptors=3)
    assert [*tmp_path.iterdir()] == []
