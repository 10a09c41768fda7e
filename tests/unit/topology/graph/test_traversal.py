from cbnet.topology import Graph
from cbnet.topology.graph.traversal import UNREACHED, Traversal


def test_what_was_reached_is_in_the_way_until_it_is_forgotten():
    traversal = Traversal(*Graph.from_edges([(0, 1), (1, 2), (3, 4)]).rows)
    path = traversal.visit(1).copy()
    assert path.tolist() == [1, 0, 2]
    assert traversal.parents.tolist() == [1, -1, 1, UNREACHED, UNREACHED]
    assert traversal.distances.tolist() == [1, 0, 1, -1, -1]
    assert traversal.visit(3).tolist() == [3, 4]
    assert traversal.visit(0).tolist() == [0]
    traversal.reset(path)
    assert traversal.visit(0).tolist() == [0, 1, 2]
    assert traversal.distances.tolist() == [0, 1, 2, 0, 1]
