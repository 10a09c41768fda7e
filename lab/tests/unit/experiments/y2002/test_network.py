import numpy as np
import pyarrow as pa
import pytest

from cbnet_lab.bench.bench_input import bench_input
from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2002.network import EXPERIMENT, _at, _levels, farthest
from cbnet_lab.workload import Forwarding2002

TINY = EXPERIMENT.parameters(interfaces=3, destinations=27, messages=10, turns=2, seconds=0.0)


@pytest.mark.parametrize(
    ("level", "sizes"),
    [(0, [9, 9, 9]), (1, [3, 3, 3, 18]), (2, [1, 1, 1, 24])],  # the last interface of all but the root leads upward
)
def test_router_has_the_filters_below_each_interface_and_the_rest_at_its_parent(level, sizes):
    data = bench_input(Forwarding2002(M=5, F=27, I=None), lambda _: None)
    own = _at(data, TINY, level)
    assert np.bincount(own.columns.targets).tolist() == sizes
    assert own.filters["filter"].equals(data.filters["filter"])
    assert own.filters["rule"].to_numpy()[0] == own.columns.targets[0]


@pytest.mark.parametrize(
    ("interfaces", "destinations", "routers"),
    [
        (3, 3, 1),
        (3, 4, 2),  # root and one child
        (3, 6, 3),  # root with three children of two destinations
        (3, 7, 4),
        (20, 380, 3),  # 20 children of 19 destinations
        (20, 381, 4),
        (20, 10**6, 9),  # 20 * 19 ** 3 = 137,180 are too few, so there are four levels below the root
    ],
)
def test_farthest_destinations_of_a_tree_of_routers(interfaces, destinations, routers):
    assert farthest(interfaces, destinations) == routers


def found(hops=9, server=1000.0, router=10.0, all_filters=None, destinations=10**6):
    parameters = EXPERIMENT.parameters(interfaces=20, destinations=destinations)
    times = {("one server", 0): server, ("one router, all filters", 0): all_filters or router}
    times |= {("router", level): router for level in range(_levels(parameters))}
    rows = [
        {"kind": kind, "level": level, "method": method, "turn": 0, "us": us}
        for (kind, level), us in times.items()
        for method in ("counting, 10 rounds", "pivot")
    ]
    counted = pa.Table.from_pylist([{"interfaces": 20, "hops": hops}, {"interfaces": 10, "hops": 12}])
    return EXPERIMENT.findings({"hops": counted, "times": pa.Table.from_pylist(rows)}, parameters)


def test_more_than_twelve_routers_fail():
    assert [found(hops)[0].verdict for hops in (9, 12, 13)] == ["holds", "holds", "fails"]
    assert "2 log_I(10^6) is 9.2" in found()[0].ours


@pytest.mark.parametrize(
    ("router", "all_filters", "verdict"),
    [
        (20.0, 20.0, "holds"),  # 1000 against 10 hops of 20, and 9 routers of 20
        (20.0, 50.0, "fails"),  # the paper's method gains half
        (50.0, 20.0, "fails"),  # the path is slow
    ],
)
def test_both_estimates_must_be_much_faster_than_a_server(router, all_filters, verdict):
    finding = found(router=router, all_filters=all_filters)[1]
    assert finding.verdict == verdict
    assert f"({1000 / (9 * router):.1f} times)" in finding.ours  # the root once, four levels twice


def test_fewer_destinations_decide_nothing():
    assert found(destinations=8000)[1].verdict == "unmeasured"
    tables = EXPERIMENT.run(TINY, ExperimentContext())
    assert "through 5 routers" in EXPERIMENT.findings(tables, TINY)[1].ours
