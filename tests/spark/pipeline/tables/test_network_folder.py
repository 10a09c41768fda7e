import tomllib

import pyarrow.parquet as pq
import pytest

from cbnet.errors import InputError
from cbnet.matching import Table
from cbnet.network.service.network_file import read_folder
from cbnet.network.service.node_data import NodePredicates
from cbnet.pipeline.schemas import FIB, PREDICATES
from cbnet.pipeline.tables.compiled_tables import compile_tables
from cbnet.pipeline.tables.network_folder import write_network_folder
from cbnet.topology import topology

ROWS = [(0, [1, 2]), (0, [3]), (2, [1])]


def test_a_network_can_be_read_back_from_its_folder(frame, tmp_path):
    source = tmp_path / "links.txt"
    source.write_text("a b 2\nb c 1\n")
    graph = topology(str(source))
    compile_tables(frame([(0, 1, 0, [3])], FIB), [1], str(tmp_path / "made"))
    folder = tmp_path / "network"
    write_network_folder(
        str(folder), str(source), graph, [1, 2], frame(ROWS, PREDICATES), tables={1: f"{tmp_path}/made/1.cbt"}
    )
    settings = tomllib.loads((folder / "network.toml").read_text())
    assert settings["version"] == 1
    assert settings["topology"] == {"graph": "graph.txt", "seed": 0, "roots": ["b", "c"]}
    again = topology(str(folder / settings["topology"]["graph"]))
    assert (again.names, [*again.edges()]) == (graph.names, [*graph.edges()])
    assert Table.open(folder / settings["tables"]["b"]).match({"#": ["tag 3"]}) == [0]
    predicates = Table.from_arrow(pq.read_table(folder / settings["predicates"]))
    assert sorted(predicates.match({"#": ["tag 1", "tag 2"]})) == ["a", "c"]
    assert predicates.match({"#": ["tag 3"]}) == ["a"]
    assert predicates.match({"#": ["tag 2"]}) == []


def test_a_generated_graph_is_named_with_its_seed(frame, tmp_path):
    graph = topology("powerlaw:12", seed=5)
    write_network_folder(str(tmp_path), "powerlaw:12", graph, [3], frame(ROWS, PREDICATES), seed=5, largest=True)
    settings = tomllib.loads((tmp_path / "network.toml").read_text())
    assert settings["topology"] == {"graph": "powerlaw:12", "seed": 5, "largest": True, "roots": [3]}
    assert settings["tables"] == {}
    again = topology(settings["topology"]["graph"], settings["topology"]["seed"])
    assert [*again.edges()] == [*graph.edges()]
    plan = read_folder(tmp_path)  # as `cbnet up --fib` reads it
    assert (len(plan.graph), plan.settings["scheme"], plan.settings["roots"]) == (12, "multitree", ("3",))
    assert len(NodePredicates.read(plan.data.predicates, [str(name) for name in graph.names])) == len(ROWS)


def test_a_network_needs_a_tree(frame, tmp_path):
    with pytest.raises(InputError, match="a network needs a tree"):
        write_network_folder(str(tmp_path), "ring:3", topology("ring:3"), [], frame(ROWS, PREDICATES))
