"""Which routers fail."""

import pytest

from cbnet import InputError
from cbnet.topology import topology
from cbnet_lab.faults.failures import choose_victims


@pytest.mark.parametrize(
    ("graph", "kind", "victims"),
    [
        ("ring:6", "random", ["0", "1", "2"]),  # the path of the other half remains
        ("ring:6", "router", ["0"]),
        ("tree:4,arity=3", "random", ["1", "2"]),  # without the centre the others are not connected
        ("tree:4,arity=3", "routers", ["1", "2", "3"]),  # one at a time
    ],
)
def test_routers_that_fail_leave_the_others_connected(graph, kind, victims):
    assert choose_victims(topology(graph), kind) == victims


@pytest.mark.parametrize("kind", ["router", "random"])
def test_router_that_nobody_can_do_without_does_not_fail(kind):
    with pytest.raises(InputError, match="can fail without partitioning it"):
        choose_victims(topology("tree:2"), kind)
