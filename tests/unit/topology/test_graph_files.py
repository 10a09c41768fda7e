import bz2
import gzip

import pytest

from cbnet.errors import FileError, InputError
from cbnet.topology import Relation, topology
from cbnet.topology.edges import EdgeSet
from cbnet.topology.graph import Graph
from cbnet.topology.graph_files import read_as_relations, read_edge_list, read_graph

LIST = "a b\nb c 2\n"
RELATIONS = "# a|comment\n\n1|2|-1\n2|3|0\n"
GRAPHML = '\n<graphml><graph><node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>'


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
@pytest.mark.parametrize(("text", "nodes", "known"), [(LIST, 3, False), (RELATIONS, 3, True), (GRAPHML, 2, False)])
def test_the_content_says_what_a_file_is(tmp_path, pack, text, nodes, known):
    path = tmp_path / "graph.dat"
    path.write_bytes(pack(text.encode("utf-8-sig")))
    graph = read_graph(path)
    assert len(graph) == nodes
    assert (graph.relations is not None) == known


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"a b\n\xff c\n", ":2: not UTF-8"),
        (gzip.compress(b"a b\n" * 1000, mtime=0)[:-9], "cannot decompress"),
        (b"\x1f\x8b\x00", "cannot decompress"),
        (bz2.compress(b"a b\n" * 1000)[:-9], "cannot decompress"),
        (b"", "the graph has no nodes"),
        (b"# nothing\n\n", "the graph has no nodes"),
        (b"<graphml/>", "the graph has no nodes"),
        (b"a b\nb c 0.0000000000000001\n", ":2: the weight 1e-16 needs more than the 15 decimal places"),
        (b"a b\nb c 9007199254740992\n", ":2: the weights are too large .*; the largest is 9007199254740992"),
        (b"a b\nb c 1e999\n", ":2: the weights are too large .*; the largest is 1.0*e.999"),
    ],
)
def test_what_is_no_graph_is_refused_with_its_name(tmp_path, data, problem):
    path = tmp_path / "graph.dat"
    path.write_bytes(data)
    with pytest.raises(InputError, match=problem) as raised:
        read_graph(path)
    assert raised.value.file == str(path)


def test_a_folder_is_no_graph(tmp_path):
    with pytest.raises(InputError, match="cannot read: Is a directory"):
        read_graph(tmp_path)


@pytest.fixture
def file(tmp_path):
    def write(text, name="graph.txt"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def test_a_generator_or_a_file(file):
    assert len(topology("ring:12")) == 12
    assert len(topology(file("a b\n"))) == 2


def test_a_file_may_be_called_like_a_generator(file, monkeypatch, tmp_path):
    file("a b\n", "ring:12")
    monkeypatch.chdir(tmp_path)
    assert (len(topology("ring:12")), len(topology("./ring:12"))) == (12, 2)


def test_the_seed_is_handed_on():
    assert [*topology("random:30", 1).edges()] != [*topology("random:30", 2).edges()]


def test_a_graph_must_be_connected_unless_it_is_said_otherwise(file):
    path = file("a b\nc d\nd e\n5 6\n")
    with pytest.raises(InputError) as raised:
        topology(path)
    assert raised.value.problem == "the graph is not connected: its 3 components have 3, 2, 2 nodes"
    assert raised.value.file == path
    assert "--largest" in raised.value.hint
    assert topology(path, largest=True).names == ("c", "d", "e")
    assert len(topology(path, connected=False)) == 7


def test_many_components_are_not_all_listed(file):
    with pytest.raises(InputError, match="its 9 components have 2, 2, 2, 2, 2, … nodes"):
        topology(file("".join(f"a{i} b{i}\n" for i in range(9))))


@pytest.mark.parametrize(
    ("text", "hint"),
    [("rign:12", "write ring:12"), ("none.txt", "write the path of a file, or one of ring:12"), ("", "path of a file"),
     ("x" * 10_000, "path of a file"), ("a\0b", "path of a file")],
)  # fmt: skip
def test_what_names_nothing_gets_a_hint(text, hint):
    with pytest.raises(InputError, match="there is no file or generator") as raised:
        topology(text)
    assert hint in raised.value.hint


def test_the_mistakes_of_a_file_come_together(file):
    with pytest.raises(FileError) as raised:
        topology(file("a a\nb b\n"))
    assert len(raised.value.errors) == 2


def read(text, reader=read_edge_list):
    edges = EdgeSet("e.txt")
    reader(text, edges)
    return Graph.from_edge_set(edges)


def named_edges(graph):
    return [(graph.name(u), graph.name(v), weight) for u, v, weight in graph.edges()]


def test_two_names_and_perhaps_a_weight_make_an_edge():
    graph = read("1 2\n\n  2\t3   4  # the slow one\n# nothing\n3 a 0.5\r\n")
    assert named_edges(graph) == [(1, 2, 10), (2, 3, 40), (3, "a", 5)]
    assert graph.scale == 10


def test_commas_separate_too_and_then_names_may_hold_blanks():
    assert named_edges(read("New York, Milan, 3\nMilan,Turin\n")) == [("Milan", "New York", 3), ("Milan", "Turin", 1)]


ONE = "# source:topology|BGP|20120601\n1|2|-1\n2|3|0\n3|4|2\n4|5|1\n"
TWO = "# serial 2\n1|2|-1|bgp\n2|3|0|mlp\n3|4|2|bgp\n4|5|1|bgp\n"


def read_relations(text):
    return read(text, read_as_relations)


@pytest.mark.parametrize("text", [ONE, TWO, ONE.replace("\n", "\r\n")])
def test_both_series_are_read(text):
    graph = read_relations(text)
    assert graph.names == (1, 2, 3, 4, 5)
    customer, peer, provider, sibling = Relation.CUSTOMER, Relation.PEER, Relation.PROVIDER, Relation.SIBLING
    # 1: 2; 2: 1, 3; 3: 2, 4; 4: 3, 5; 5: 4
    assert graph.relations.tolist() == [customer, provider, peer, peer, sibling, sibling, sibling, sibling]
    assert graph.is_unit


def test_the_second_as_of_a_line_may_be_the_smaller():
    assert read_relations("9|2|-1\n").relations.tolist() == [Relation.PROVIDER, Relation.CUSTOMER]


def test_the_same_relation_again_is_dropped_and_counted():
    graph = read_relations("1|2|0\n2|1|0\n3|1|2\n1|3|1\n")
    assert (graph.edge_count, graph.repeated) == (2, 2)


LIST_MISTAKES = [
    (2, "'a' is not an edge"),
    (3, "the weight c is not a number"),
    (4, "'a,,3' is not an edge"),
    (5, "the edge between a and b has another weight in line 1"),
    (6, "'a b 1 9' is not an edge"),
    (7, "the edge leads from c to itself"),
    (8, "the weight -2 is not greater than 0"),
]
RELATION_MISTAKES = [
    (2, "the edge between 2 and 1 has another relation in line 1"),
    (3, "'1|3' is not a relation between ASes"),
    (4, "'1|x|0' is not a relation between ASes"),
    (5, "unknown relation '7'"),
    (6, "the edge leads from 3 to itself"),
    (7, "'1|4|-1|bgp|more' is not a relation between ASes"),
    (8, "'1|٣|0' is not a relation between ASes"),
]


@pytest.mark.parametrize(
    ("reader", "text", "mistakes"),
    [
        (read_edge_list, "a b\na\na b c\na,,3\na b 2\na b 1 9\nc c\nd e -2\n", LIST_MISTAKES),
        (read_as_relations, "1|2|-1\n2|1|-1\n1|3\n1|x|0\n1|3|7\n3|3|0\n1|4|-1|bgp|more\n1|٣|0\n", RELATION_MISTAKES),
    ],
)
def test_every_mistake_is_named_with_its_line(reader, text, mistakes):
    with pytest.raises(FileError) as raised:
        read(text, reader)
    assert [(error.line, error.problem) for error in raised.value.errors] == mistakes
    assert all(error.hint for error in raised.value.errors)
