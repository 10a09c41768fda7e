import numpy as np
import pyarrow as pa
import pytest

from cbnet.lab.bench.bench_input import bench_input
from cbnet.lab.experiments.experiment import ExperimentContext
from cbnet.lab.experiments.y2002.network import EXPERIMENT, RouterNetworkParameters, _at
from cbnet.lab.workload import Forwarding2002

TINY = RouterNetworkParameters(3, 3, messages=10, turns=2, seconds=0.0)


@pytest.mark.parametrize(
    ("level", "sizes"),
    [(0, [9, 9, 9]), (1, [3, 3, 3, 18]), (2, [1, 1, 1, 24])],  # the last interface of all but the root leads upward
)
def test_router_has_the_filters_below_each_interface_and_the_rest_at_its_parent(level, sizes):
    data = bench_input(Forwarding2002(M=5, F=27, I=None), lambda _: None)
    own = _at(data, TINY, level)
    assert np.bincount(own.columns.targets).tolist() == sizes
    assert own.filters["filter"].equals(data.filters["filter"])
    assert own.filters["interface"].to_numpy()[0] == own.columns.targets[0]


def test_hops_of_the_paper_are_those_of_ten_interfaces():
    tables = EXPERIMENT.run(TINY, ExperimentContext())
    hops, times = EXPERIMENT.findings(tables, TINY)
    assert hops.verdict == "differs"
    assert hops.ours == "2 log_20(10^6) = 9.2, so 10 (I = 20), 2 log_10(10^6) = 12.0, so 12 (I = 10)"
    assert times.verdict == "unmeasured"  # 27 destinations tell nothing
    assert "through 5 routers" in times.ours


@pytest.mark.parametrize(("router", "verdict"), [(10.0, "holds"), (50.0, "differs"), (500.0, "fails")])
def test_path_time_is_the_sum_of_its_routers(router, verdict):
    large = RouterNetworkParameters(20, 4)
    times = {("one server", 0): 1000.0, ("one router, all filters", 0): router}
    times |= {("router", level): router for level in range(4)}
    rows = [
        {"kind": kind, "level": level, "method": method, "turn": 0, "us": us}
        for (kind, level), us in times.items()
        for method in ("counting, 10 rounds", "pivot")
    ]
    hops = EXPERIMENT.run(TINY, ExperimentContext())["hops"]
    _, finding = EXPERIMENT.findings({"hops": hops, "times": pa.Table.from_pylist(rows)}, large)
    assert finding.verdict == verdict
    assert f"({1000 / (7 * router):.1f} times)" in finding.ours  # the root once, three levels twice
