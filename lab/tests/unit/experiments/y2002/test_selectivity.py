import numpy as np
import pyarrow as pa

from cbnet_lab.bench.bench_input import bench_input
from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2002.selectivity import EXPERIMENT
from cbnet_lab.workload import Forwarding2002

TINY = EXPERIMENT.parameters(messages=10, counted=50, filters=300, rounds=15)


def test_excluded_interfaces_need_one_of_the_ten_commonest_names_that_a_message_lacks():
    tables = EXPERIMENT.run(TINY, ExperimentContext(seed=1))
    data = bench_input(Forwarding2002(M=10, F=300, I=None, seed=1), lambda _: None)
    names = [{each.name for each in data.columns.filter(place).constraints} for place in range(300)]
    asked = {name: {place for place, own in enumerate(names) if name in own} for name in set().union(*names)}
    sizes = sorted((len(own) for own in asked.values()), reverse=True)
    first = [name for name, own in asked.items() if len(own) > sizes[10]]  # surely among the first ten
    last = [name for name, own in asked.items() if len(own) >= sizes[9]]  # with ties, perhaps
    for members, row in zip(data.members, tables["messages"].to_pylist(), strict=True):
        least = set().union(*(asked[name] for name in first if name not in members))
        most = set().union(*(asked[name] for name in last if name not in members))
        assert len(least) <= row["excluded"] <= len(most)
    assert all(row["held"] == row["counters"] for row in tables["work"].to_pylist())


def judged(excluded=131, rounds=(9.0, 5.0, 1.0), counters=7, size=200):
    tables = {
        "messages": pa.Table.from_pylist([{"interfaces": 1000 * size, "excluded": 1000 * excluded}] * 100),
        "rounds": pa.Table.from_pylist(
            [{"round": n, "excluded": each} for n, each in enumerate(np.repeat(rounds, 5).tolist(), 1)]
        ),
        "work": pa.Table.from_pylist([{"held": 7, "counters": counters, "excluded": 0}]),
    }
    return [finding.verdict for finding in EXPERIMENT.findings(tables, TINY)]


def test_verdicts_follow_from_the_numbers():
    assert judged() == ["holds", "holds"]
    assert judged(excluded=100) == ["fails", "holds"]
    assert judged(excluded=150) == ["fails", "holds"]
    assert judged(excluded=66, size=100) == ["unmeasured", "holds"]
    assert judged(rounds=(9.0, 10.0, 1.0)) == ["holds", "fails"]
    assert judged(rounds=(1.0, 2.0, 3.0)) == ["holds", "fails"]
    assert judged(counters=8) == ["holds", "fails"]
