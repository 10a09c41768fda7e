"""The predicates of nodes, from files of all kinds."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cbnet import InputError, Table, parse
from cbnet.network.service.node_predicates import NodePredicates


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
