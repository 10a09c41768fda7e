from cbnet.topology import ROOT, shortest_path_tree, topology
from cbnet.topology.trees.links import interface_links, tree_links


def test_both_ends_of_a_link_have_its_number(twelve):
    links = interface_links(twelve).tolist()
    edges = [(u, v) for u, v, _ in twelve.edges()]
    ends = [(u, int(v)) for u in range(12) for v in twelve.neighbours(u)]
    assert [edges[link] for link in links] == [(min(end), max(end)) for end in ends]


def test_a_node_hangs_by_the_link_to_its_parent():
    graph = topology("powerlaw:300", seed=1)
    tree = shortest_path_tree(graph, 17)
    edges = [(u, v) for u, v, _ in graph.edges()]
    found = tree_links(graph, tree, interface_links(graph)).tolist()
    assert found[17] == ROOT
    for node, parent in enumerate(tree.parents.tolist()):
        if node != 17:
            assert edges[found[node]] == (min(node, parent), max(node, parent))
