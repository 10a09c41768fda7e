"""The predicates of nodes, from files of all kinds, and the tables that routers start with."""

from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.seeds import seeds

from cbnet import InputError, Table, parse
from cbnet.language.relations.reduction import reduce
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.network.service.node_data import NodePredicates, read_computed_tables
from cbnet.routing.multitree.folding import fold


def parquet(path, rows):
    path.parent.mkdir(exist_ok=True)
    columns = dict(zip(("rule", "filter", "name", "op"), zip(*rows, strict=True), strict=True))
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
    [found] = read_computed_tables(tmp_path / "1.cbt", NODES, 1)
    assert {name: set(filters) for name, filters in found.items()} == {
        "north": encoded(wants[0]),
        "south": encoded(wants[2]),
    }


def test_filters_with_constraints_are_read(tmp_path):
    Table.build({0: "x > 5 and #a or exists y"}).save(tmp_path / "1.cbt")
    assert set(read_computed_tables(tmp_path / "1.cbt", NODES, 2)[1]["north"]) == encoded("x > 5 and #a or exists y")


@pytest.mark.parametrize("interface", [3, -1, "north"])
def test_an_interface_that_is_no_node_is_an_error(tmp_path, interface):
    Table.build({interface: "#jazz"}).save(tmp_path / "1.cbt")
    with pytest.raises(InputError, match=f"the table has an interface {interface!r}, which is no node") as raised:
        read_computed_tables(tmp_path / "1.cbt", NODES, 1)
    assert "1.cbt" in str(raised.value)


def test_a_folded_table_is_that_of_each_tree(tmp_path):
    # on tree 1 jazz covers jazz and vinyl; on tree 2 it does not, as jazz is not behind the interface there
    wants = {0: '#jazz and #"tree 1" or #jazz and #vinyl or #news', 2: '#rock and #"tree 2"'}
    Table.build(wants, engine="tags", reduce=False).save(tmp_path / "1.cbt")
    found = read_computed_tables(tmp_path / "1.cbt", NODES, 2)
    assert [{name: set(filters) for name, filters in table.items()} for table in found] == [
        {"north": encoded("#jazz or #news")},
        {"north": encoded("#jazz and #vinyl or #news"), "south": encoded("#rock")},
    ]


@pytest.mark.parametrize("seed", seeds(7))
def test_unfolding_undoes_folding(tmp_path, seed):
    rng = Random(seed)
    trees = [
        {
            key: parse(" or ".join(_random_filter(rng) for _ in range(rng.randint(1, 9))))
            for key in rng.sample([0, 2], rng.randint(1, 2))
        }
        for _ in range(3)
    ]
    folded = fold({f"tree {number}": table for number, table in enumerate(trees, start=1)})
    Table.build(folded, engine="tags", reduce=False).save(tmp_path / "1.cbt")
    for count in (3, 2, 1):  # a network may be started with fewer trees
        found = read_computed_tables(tmp_path / "1.cbt", NODES, count)
        assert [{name: set(filters) for name, filters in table.items()} for table in found] == [
            {NODES[key]: encoded(str(reduce(predicate))) for key, predicate in table.items()} for table in trees[:count]
        ]


def _random_filter(rng):
    return " and ".join(f"#{tag}" for tag in sorted(rng.sample("abcdef", rng.randint(1, 3))))


@pytest.mark.parametrize("wants", ['x > 5 or #a and #"tree 1"', '#"tree 2"'])
def test_a_folded_table_has_sets_of_tags_only(tmp_path, wants):
    Table.build({0: wants}).save(tmp_path / "1.cbt")
    with pytest.raises(InputError, match="a filter of a folded table is no set of tags"):
        read_computed_tables(tmp_path / "1.cbt", NODES, 2)
