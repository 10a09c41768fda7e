"""The predicates of nodes, from files of all kinds, and the tables that routers start with."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cbnet import InputError, Table, parse
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.network.service.node_data import NodePredicates, read_computed_table


def parquet(path, rows):
    path.parent.mkdir(exist_ok=True)
    columns = dict(zip(("interface", "filter", "name", "op"), zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table({name: list(each) for name, each in columns.items()}), path)


def test_a_folder_of_parquet_files_is_one_predicate_for_each_node(tmp_path):
    parquet(tmp_path / "p.parquet" / "part-0.parquet", [("a", 0, "jazz", "#"), ("a", 0, "vinyl", "#")])
    parquet(tmp_path / "p.parquet" / "part-1.parquet", [("a", 1, "news", "#"), ("7", 2, "news", "#")])
    (tmp_path / "p.parquet" / "_SUCCESS").write_text("")
    found = NodePredicates.read(tmp_path / "p.parquet", ["7", "a", "b"])
    assert (found.of("7"), found.of("a")) == (parse("#news"), parse("#jazz and #vinyl or #news"))
    assert not found.of("b").filters
    assert len(found) == 3


@pytest.mark.parametrize(
    ("write", "problem"),
    [
        (lambda path: path.mkdir(), "no Parquet file in this folder; run the pipeline again"),
        (lambda path: path.write_text("no"), "not a Parquet file"),
        (lambda path: parquet(path / "part.parquet", [("z", 0, "t", "#")]), "predicate of 'z', which is not a node"),
        (lambda path: (path.mkdir(), (path / "part.parquet").write_text("no")), "not a Parquet file"),
        (lambda _: None, "cannot read: No such file"),
    ],
)
def test_predicates_that_cannot_be_loaded(tmp_path, write, problem):
    path = tmp_path / "p.parquet"
    write(path)
    with pytest.raises(InputError) as raised:
        NodePredicates.read(path, ["a"])
    assert problem in str(raised.value)
    assert "p.parquet" in str(raised.value)


def test_predicates_are_read_from_rules_and_compiled_tables(tmp_path):
    (tmp_path / "rules.toml").write_text("[rules]\na = '#jazz'\n[rules.7]\nwhen = '#news or #jazz'\npriority = 3\n")
    Table.open(tmp_path / "rules.toml").save(tmp_path / "rules.cbt")
    for name in ("rules.toml", "rules.cbt"):
        found = NodePredicates.read(tmp_path / name, ["7", "a", "b"])
        assert (found.of("7"), found.of("a")) == (parse("#news or #jazz"), parse("#jazz"))


NODES = ["north", "here", "south"]


def encoded(text):
    return {filter_to_bytes(filter) for filter in parse(text).filters}


@pytest.mark.parametrize("engine", ["tags", "pivot"])
def test_filters_are_read_by_the_name_of_the_neighbour(tmp_path, engine):
    wants = {0: "#jazz and #vinyl or #news", 2: "#news"}
    Table.build(wants, engine=engine).save(tmp_path / "1.cbt")
    found = read_computed_table(tmp_path / "1.cbt", NODES)
    assert {name: set(filters) for name, filters in found.items()} == {
        "north": encoded(wants[0]),
        "south": encoded(wants[2]),
    }


def test_filters_with_constraints_are_read(tmp_path):
    Table.build({0: "x > 5 and #a or exists y"}).save(tmp_path / "1.cbt")
    assert set(read_computed_table(tmp_path / "1.cbt", NODES)["north"]) == encoded("x > 5 and #a or exists y")


@pytest.mark.parametrize("interface", [3, -1, "north"])
def test_an_interface_that_is_no_node_is_an_error(tmp_path, interface):
    Table.build({interface: "#jazz"}).save(tmp_path / "1.cbt")
    with pytest.raises(InputError, match=f"the table has an interface {interface!r}, which is no node") as raised:
        read_computed_table(tmp_path / "1.cbt", NODES)
    assert "1.cbt" in str(raised.value)
