from itertools import pairwise

import pytest

from cbnet.errors import InputError
from cbnet.topology import Graph, topology
from cbnet.topology.domains import grow_domains, validate_domains


def test_centres_are_large_and_apart_and_nodes_belong_to_the_nearest():
    # 0 has four neighbours; of the others 5, three hops away with two, has the largest product: 2 · 3
    graph = Graph.from_edges([(0, 1), (0, 2), (0, 3), (0, 4), (3, 4), (4, 6), (6, 5), (5, 7)])
    assert grow_domains(graph, 1).tolist() == [0] * 8
    assert grow_domains(graph, 2).tolist() == [0, 0, 0, 0, 0, 1, 1, 1]


def test_a_line_of_nodes_falls_into_connected_parts():
    graph = topology("grid:1x9")
    domains = grow_domains(graph, 3).tolist()
    assert sum(one != other for one, other in pairwise(domains)) == 2
    assert len(set(domains)) == 3


def test_given_groups_are_numbered_as_they_occur():
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3)])
    assert validate_domains(graph, ["south", "south", "north", "north"]).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("count", [0, 5])
def test_the_number_of_domains_must_be_possible(count):
    with pytest.raises(InputError, match=f"4 nodes has from 1 to 4 domains, not {count}"):
        grow_domains(topology("ring:4"), count)


def test_a_domain_that_falls_apart_is_refused_with_two_of_its_nodes():
    with pytest.raises(InputError, match="the domain 7 is not connected: it has no path from 0 to 2"):
        validate_domains(topology("ring:4"), [7, 8, 7, 9])
