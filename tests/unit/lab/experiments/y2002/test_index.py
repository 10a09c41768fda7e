from math import ceil, log2

import pyarrow as pa

from cbnet.lab.experiments.experiment import ExperimentContext
from cbnet.lab.experiments.y2002.index import EXPERIMENT, IndexParameters

TINY = IndexParameters((8, 100), (20, 60), (4, 12), lookups=6, filters=300, messages=10)


def test_number_look_up_takes_one_binary_search_per_operator():
    rows = EXPERIMENT.run(TINY, ExperimentContext())["numbers"].to_pylist()
    for count in (8, 100):
        own = [row for row in rows if row["constraints"] == 2 * count]
        # -1 is below all bounds, and the last value above all; in between, fewer and fewer are above
        assert (own[0]["output"], own[-1]["output"]) == (count, 0)
        assert [row["output"] for row in own] == sorted((row["output"] for row in own), reverse=True)
        assert all(row["comparisons"] <= 2 * ceil(log2(count + 1)) for row in own)


def test_one_index_visits_fewer_nodes_for_the_same_answer():
    tables = EXPERIMENT.run(TINY, ExperimentContext())
    one, many = tables["united"].to_pylist()
    assert one["nodes"] < many["nodes"]
    assert one["matched"] == many["matched"] > 0
    assert [finding.verdict for finding in EXPERIMENT.findings(tables, TINY)] == ["holds", "holds", "holds"]


def test_work_above_the_bound_fails():
    tables = dict(EXPERIMENT.run(TINY, ExperimentContext()))
    tables["numbers"] = pa.Table.from_pylist([{"constraints": 16, "output": 8, "comparisons": 9}])  # 2 (log2 8 + 1) = 8
    tables["strings"] = pa.Table.from_pylist(
        [{"constraints": n, "length": k, "output": 1, "nodes": n * k**3} for n in (16, 64) for k in (4, 8)]
    )
    verdicts = {finding.claim: finding.verdict for finding in EXPERIMENT.findings(tables, TINY)}
    assert (verdicts[24], verdicts[25]) == ("fails", "fails")
