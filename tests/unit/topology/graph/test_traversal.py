from cbnet.topology import Graph
from cbnet.topology.graph.traversal import UNREACHED, Growth


def test_what_was_reached_is_in_the_way_until_it_is_forgotten():
    growth = Growth(*Graph.from_edges([(0, 1), (1, 2), (3, 4)]).rows)
    path = growth.grow(1).copy()
    assert path.tolist() == [1, 0, 2]
    assert growth.parents.tolist() == [1, -1, 1, UNREACHED, UNREACHED]
    assert growth.distances.tolist() == [1, 0, 1, -1, -1]
    assert growth.grow(3).tolist() == [3, 4]
    assert growth.grow(0).tolist() == [0]
    growth.forget(path)
    assert growth.grow(0).tolist() == [0, 1, 2]
    assert growth.distances.tolist() == [0, 1, 2, 0, 1]
