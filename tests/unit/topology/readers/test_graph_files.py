import bz2
import gzip

import pytest

from cbnet.errors import InputError
from cbnet.topology.readers.graph_files import read_graph

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
