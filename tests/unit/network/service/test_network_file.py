"""Network files and address files."""

import pytest
from support.text_files import text_file

from cbnet import InputError
from cbnet.network.service.network_file import read_folder, read_network
from cbnet.network.service.process_network import InitialFiles

file = text_file("network.toml")


def test_all_keys_are_read(file):
    plan = read_network(
        file(
            'version = 1\n[topology]\ngraph = "ring:4"\n[network]\nname = "n"\nscheme = "multitree"\ntrees = 2\n[ports]\n3 = 4001'
        )
    )
    assert (len(plan.graph), plan.graph.edge_count) == (4, 4)
    assert (plan.name, plan.scheme, plan.trees, plan.ports, plan.data) == ("n", "multitree", 2, {"3": 4001}, None)


def test_seed_argument_overrides_the_file(file):
    path = file('[topology]\ngraph = "powerlaw:30"\nseed = 5')
    from cbnet.topology import topology

    def edges(graph):
        return list(graph.edges())

    assert edges(read_network(path).graph) == edges(topology("powerlaw:30", 5))
    assert edges(read_network(path, seed=6).graph) == edges(topology("powerlaw:30", 6))


def test_graph_file_is_relative_to_the_network_file(file, tmp_path):
    (tmp_path / "graph.txt").write_text("a b\nb c 5\n")
    plan = read_network(file('[topology]\ngraph = "graph.txt"'))
    assert [str(name) for name in plan.graph.names] == ["a", "b", "c"]


def test_network_of_the_pipeline_is_read(file, tmp_path):
    (tmp_path / "predicates.parquet").mkdir()
    text = (
        'version = 1\npredicates = "predicates.parquet"\n\n[topology]\ngraph = "aslike:20"\nseed = 0\nroots = [3, 7]\n\n'
        '[tables]\n"3" = "tables/3.cbt"\n'
    )
    plan = read_network(file(text))
    assert len(plan.graph) == 20
    assert plan.data == InitialFiles(tmp_path / "predicates.parquet", {"3": tmp_path / "tables" / "3.cbt"})
    assert plan.settings == {
        "network": "cbnet",
        "scheme": "multitree",
        "trees": 2,
        "roots": ("3", "7"),
        "commit": "publisher",
    }
    assert read_folder(tmp_path).settings == plan.settings


def test_largest_component_is_kept_on_request(file, tmp_path):
    (tmp_path / "graph.txt").write_text("a b\nb c\nx y\n")
    assert len(read_network(file('[topology]\ngraph = "graph.txt"\nlargest = true')).graph) == 3
    with pytest.raises(InputError, match=r"network.toml:3: largest: expected true or false, got a whole number"):
        read_network(file('[topology]\ngraph = "graph.txt"\nlargest = 1'))


def test_folder_without_initial_predicates_is_an_error(file, tmp_path):
    with pytest.raises(InputError, match=r"none: there is no such folder; give the folder `live` of a run"):
        read_folder(tmp_path / "none")
    with pytest.raises(InputError, match=r"there is no network.toml in this folder; give the folder `live`"):
        read_folder(tmp_path)
    file('[topology]\ngraph = "ring:4"')
    with pytest.raises(InputError, match="this network has no initial predicates; start the network with"):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no graph given"),
        ("version = 2", "network.toml:1: unknown version 2 of network files"),
        ("topology = 5", "network.toml:1: this must be a section; begin it with a line [topology]"),
        ('[topology]\ngraph = "ring:4"\nsize = 3', "unknown key 'size' in [topology]"),
        ('[topology]\ngraph = 5', "network.toml:2: graph: expected a string, got a whole number"),
        ('[topology]\ngraph = "ring:4"\n[ports]\n9 = 1', "network.toml:4: [ports] names '9', which is not a router"),
        ('[topology]\ngraph = "ring:4"\n[ports]\n1 = 0', "network.toml:4: 0 is not a port"),
        ('[topology]\ngraph = "ring:4"\n[ports]\n1 = 5\n2 = 5', "network.toml:3: two routers have the same port"),
        ('[topology]\ngraph = "none.txt"', "network.toml:2: there is no file or generator"),
        ('[topology]\ngraph = "ring:4"\nroots = [9]', "network.toml:3: the root 9 is not a node"),
        ('predicates = "p.parquet"\n[topology]\ngraph = "ring:4"', "network.toml:1: there is no p.parquet in the same folder"),
        ('predicates = 5\n[topology]\ngraph = "ring:4"', "network.toml:1: predicates must be a file name, not 5"),
        ('[topology]\ngraph = "ring:4"\n[tables]\n1 = "1.cbt"', "network.toml:3: there are tables but no predicates"),
        ('[topology]\ngraph = "ring:4"\n[tables]\n9 = "1.cbt"', "network.toml:4: [tables] names '9', which is not a router"),
        ('[topology]\ngraph = "ring:4"\n[tables]\n1 = 5', "network.toml:3: tables must be a table of files"),
        ("[topology", "not TOML"),
    ],
)  # fmt: skip
def test_mistake_is_reported_with_the_file(file, text, problem):
    with pytest.raises(InputError) as raised:
        read_network(file(text))
    assert problem in str(raised.value)
    assert "network.toml" in str(raised.value)
