import gzip

import numpy as np
import pytest

from cbnet.errors import FileError, InputError
from cbnet.pipeline.population.users_per_as import first_clusters, users_by_class, users_from_file
from cbnet.topology import AsClass, Graph, as_classes, topology


@pytest.fixture
def graph():
    return Graph.from_edges([(10, 20), (20, 30), (30, 40)])


@pytest.mark.parametrize("packed", [False, True])
def test_users_are_read_for_the_nodes_of_the_graph(graph, tmp_path, packed):
    text = "asn,users,more\n20,500,x\n99,7000,x\n40,1.5e3,x\n20,1,x\n"
    path = tmp_path / "users.csv"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    # 20 has 250.5 users per link and 40 has 1500: the median, 875.25, for the one link of 10 and the two of 30
    assert users_from_file(graph, path).tolist() == [875.25, 501, 1750.5, 1500]


def test_absent_ases_have_users_by_class_and_degree(tmp_path):
    graph = topology("aslike:300", seed=1)
    classes, path = as_classes(graph), tmp_path / "users.csv"
    listed = [node for node in range(300) if node % 2]
    path.write_text("asn,users\n" + "".join(f"{graph.name(node)},{node * 10}\n" for node in listed))
    users = users_from_file(graph, path)
    assert [users[node] for node in listed] == [node * 10 for node in listed]
    stubs = [node for node in listed if classes[node] == AsClass.STUB]
    per_link = np.median([node * 10 / graph.degrees[node] for node in stubs])
    for node in range(0, 300, 2):
        if classes[node] == AsClass.STUB:
            assert users[node] == pytest.approx(per_link * graph.degrees[node])
    assert (users > 0).sum() >= 299  # all but the listed one with none


def test_columns_may_have_other_names(graph, tmp_path):
    path = tmp_path / "users.csv"
    path.write_text("n,who\n3,10\n4,20\n")
    assert users_from_file(graph, path, name="who", users="n").tolist() == [3, 4, 5, 2.5]


def test_all_invalid_numbers_are_reported_with_their_lines(graph, tmp_path):
    path = tmp_path / "users.csv"
    path.write_text("asn,users\n10,1\n20,many\n30,-4\n40,nan\n10,\n")
    with pytest.raises(FileError) as error:
        users_from_file(graph, path)
    assert [each.line for each in error.value.errors] == [3, 4, 5, 6]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("as,users\n10,1\n", "there is no column 'asn'"),
        ("", "there is no column 'asn'"),
        ("asn,users\n77,5\n", "no node of the graph has users"),
        ("asn,users\n10,0\n", "no node of the graph has users"),
    ],
)
def test_file_without_users_of_the_graph_is_refused(graph, tmp_path, text, problem):
    path = tmp_path / "users.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        users_from_file(graph, path)


def test_missing_or_damaged_file_is_refused(graph, tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        users_from_file(graph, tmp_path / "none.csv")
    path = tmp_path / "users.csv.gz"
    whole = gzip.compress(b"asn,users\n" + b"10,1\n" * 5000)
    for damaged in (whole[:-20], whole[:20] + b"0" + whole[21:]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="cannot read"):
            users_from_file(graph, path)


def test_classes_have_their_shares_without_a_file():
    graph = topology("aslike:800", seed=1)
    weights, classes = users_by_class(graph), as_classes(graph)
    assert {kind for kind in AsClass if (classes == kind).any()} == {*AsClass}
    shares = [weights[classes == kind].sum() for kind in AsClass]
    assert shares == pytest.approx([0.02, 0.25, 0.20, 0.53])
    stubs = np.flatnonzero(classes == AsClass.STUB)
    ratio = weights[stubs] / graph.degrees[stubs]
    assert ratio == pytest.approx(np.full(len(stubs), ratio[0]))


def test_users_are_proportional_to_degree_without_relations(graph):
    assert users_by_class(graph).tolist() == [1, 2, 2, 1]


def test_clusters_are_assigned_by_share_and_in_order():
    weights = np.array([5.0, 0.0, 3.0, 2.0, 0.4])
    first = first_clusters(weights, 1000)
    assert first[0] == 0
    assert first[-1] == 1000
    counts = np.diff(first)
    assert np.abs(counts - 1000 * weights / weights.sum()).max() <= 1
    assert counts[1] == 0


@pytest.mark.parametrize(("weights", "clusters"), [([0, 0], 5), ([1, -1], 5), ([1, 1], -1)])
def test_negative_or_zero_users_and_clusters_are_refused(weights, clusters):
    with pytest.raises(InputError):
        first_clusters(np.array(weights, dtype=float), clusters)
