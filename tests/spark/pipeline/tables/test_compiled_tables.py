from cbnet.matching import Table
from cbnet.pipeline.schemas import FIB, TAGS
from cbnet.pipeline.tables.compiled_tables import compile_tables

TAG_ROWS = [("jazz", 0, 9), ("vinyl", 1, 5), ("odd name, #1", 2, 1)]
TABLE = [(0, 7, 1, [0, 1]), (0, 7, 2, [2]), (0, 7, 2, [1, 3]), (0, 8, 5, [0])]


def test_compiled_tables_match_like_their_descriptors(frame, tmp_path):
    names = compile_tables(frame(TABLE, FIB), [8, 7], str(tmp_path), tags=frame(TAG_ROWS, TAGS))
    assert names == {8: ["8.cbt"], 7: ["7.cbt"]}
    assert sorted(each.name for each in tmp_path.iterdir()) == ["7.cbt", "8.cbt"]
    table = Table.open(tmp_path / "7.cbt", verify=True)
    assert table.match({"#": ["jazz"]}) == []
    assert table.match({"#": ["jazz", "vinyl", "more"]}) == [1]
    assert sorted(table.match({"#": ["jazz", "vinyl", "odd name, #1"]})) == [1, 2]
    assert table.match({"#": ["vinyl", "tag 3"]}) == [2]  # 3 is in no dictionary
    assert Table.open(tmp_path / "8.cbt").match({"#": ["jazz"]}) == [5]


def test_folded_table_requires_the_tree_only_where_trees_differ(frame, tmp_path):
    rows = [(None, 7, 1, [0]), (0, 7, 2, [1]), (1, 7, 3, [1])]
    compile_tables(frame(rows, FIB), [7], str(tmp_path), folded=True)
    table = Table.open(tmp_path / "7.cbt")
    assert sorted(table.match({"#": ["tag 0", "tag 1", "tree 1"]})) == [1, 2]
    assert sorted(table.match({"#": ["tag 0", "tag 1", "tree 2"]})) == [1, 3]


def test_a_router_without_descriptors_has_an_empty_table(frame, tmp_path):
    assert compile_tables(frame(TABLE, FIB), [9], str(tmp_path)) == {9: ["9.cbt"]}
    assert Table.open(tmp_path / "9.cbt").match({"#": ["tag 0"]}) == []


def test_a_table_of_many_descriptors_has_several_files(frame, tmp_path):
    rows = [(0, 7, number % 3, [number, number + 1]) for number in range(100)] + [(0, 8, 5, [0])]
    names = compile_tables(frame(rows, FIB), [7, 8], f"file://{tmp_path}", max_filters=30)
    assert names == {7: ["7-1.cbt", "7-2.cbt", "7-3.cbt", "7-4.cbt"], 8: ["8.cbt"]}
    tables = [Table.open(tmp_path / name, verify=True) for name in names[7]]
    for number in range(100):
        message = {"#": [f"tag {number}", f"tag {number + 1}"]}
        assert [key for table in tables for key in table.match(message)] == [number % 3]


def test_tables_are_written_to_any_file_system(frame, remote, tmp_path):
    compile_tables(frame(TABLE, FIB), [7, 9], f"{remote}/tables")
    assert sorted(each.name for each in tmp_path.glob("tables/[!.]*")) == ["7.cbt", "9.cbt"]
    assert sorted(Table.open(tmp_path / "tables" / "7.cbt", verify=True).match({"#": ["tag 0", "tag 1", "tag 2"]})) == [
        1,
        2,
    ]
