import pytest
from support.networks import TWELVE, graph

from cbnet.errors import InputError
from cbnet.routing import Network, scheme
from cbnet.topology import Graph

PATH = graph("1-2:1 2-3:1 3-4:5")


def test_all_nodes_send_by_default():
    assert Network(PATH, {3: "x = 1"}).senders == (0, 1, 2, 3)
    assert Network(PATH, {3: "x = 1"}, [2, 0, 2]).senders == (0, 2)


def test_receivers_are_known_by_ascending_ids():
    network = Network(PATH, {3: "x = 1", 1: "true"})
    assert network.receivers.tolist() == [1, 3]
    assert network.rank == {1: 0, 3: 1}
    assert network.distances(0).tolist() == [1, 7]
    assert network.hops(0).tolist() == [1, 3]


def test_first_hops_lead_to_the_receivers():
    network = Network(graph(TWELVE), dict.fromkeys(range(12), "true"))
    six = network.graph.id(6)
    names = [network.graph.name(int(hop)) for hop in network.first_hops(six)]
    # By hand in figure 1: 1 is 4 away, 5 by 9 is 4 as well … 1-6:4 is direct, 9-5 costs 2 + 2.
    assert names == [1, 2, 2, 7, 9, 6, 7, 7, 9, 9, 7, 7]


def test_network_of_one_node_sends_nothing():
    network = Network(Graph.from_edges([], names=["a"]), {0: "true"})
    assert network.first_hops(0).tolist() == [0]


@pytest.mark.parametrize(
    ("graph", "predicates", "senders", "problem"),
    [
        (PATH, {4: "true"}, None, "there is no node 4; ids are from 0 to 3"),
        (PATH, {0: "true"}, [-1], "there is no node -1"),
        (PATH, {"1": "true"}, None, "there is no node '1'; ids are from 0 to 3; see Graph.id"),
        (PATH, {1: "true", "a": "true"}, None, "there is no node 'a'"),
        (PATH, {1.0: "true"}, None, "there is no node 1.0"),
        (PATH, {1: "true"}, [0, "b"], "there is no node 'b'"),
        (PATH, {1: "true"}, [True], "there is no node True"),
        (PATH, {0: "x <"}, None, "a value is missing"),
        (Graph.from_edges([("a", "b"), ("c", "d")]), {0: "true"}, None, "not connected"),
    ],
)
def test_invalid_networks_are_refused(graph, predicates, senders, problem):
    with pytest.raises(InputError, match=problem):
        Network(graph, predicates, senders)


@pytest.mark.parametrize("name", ["psf", "pif"])
def test_too_many_senders_are_refused(name, monkeypatch):
    monkeypatch.setattr("cbnet.routing.network._MAX_PARENTS", 11)
    scheme(name)(Network(PATH, {0: "true"}, [0, 1]))
    with pytest.raises(InputError, match="4 nodes may have 2 senders, not 4"):
        scheme(name)(Network(PATH, {0: "true"}))
