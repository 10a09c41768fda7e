import pytest

from cbnet.topology import shortest_path_tree, topology


@pytest.fixture(scope="session")
def tree():
    """Return a tree of 24 nodes."""
    return shortest_path_tree(topology("powerlaw:24", seed=1), 3)
