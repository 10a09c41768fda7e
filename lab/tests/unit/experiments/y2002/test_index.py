from math import ceil, log2

import pyarrow as pa

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2002.index import EXPERIMENT

TINY = EXPERIMENT.parameters(numbers=(8, 100), strings=(20, 60), lengths=(4, 12), lookups=6, filters=300, messages=10)


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


def judged(**tables):
    own = {
        "numbers": [{"constraints": 16, "output": output, "comparisons": 6, "rank_steps": 4} for output in (0, 4, 8)],
        "strings": [
            {"strings": n, "length": k, "output": 1, "nodes": k * (log2(n) + k)} for n in (16, 64) for k in (4, 8)
        ],
        "united": [{"index": "one", "nodes": 5, "matched": 1}, {"index": "one per operator", "nodes": 9, "matched": 1}],
    } | tables
    found = EXPERIMENT.findings({name: pa.Table.from_pylist(rows) for name, rows in own.items()}, TINY)
    return {finding.claim: finding.verdict for finding in found}


def test_work_within_the_bounds_holds():
    assert judged() == {24: "holds", 25: "holds", 26: "holds"}


def test_searches_must_include_the_rank_and_not_grow_with_the_output():
    # 8 constants of two operators: 3 (log2 8 + 1) = 12 steps
    too_many = [{"constraints": 16, "output": 8, "comparisons": 6, "rank_steps": 7}]
    assert judged(numbers=too_many)[24] == "fails"
    growing = [{"constraints": 2**17, "output": n, "comparisons": n, "rank_steps": 2} for n in (1, 1, 9)]
    assert judged(numbers=growing)[24] == "fails"


def test_trie_work_above_the_bound_or_growing_with_the_strings_fails():
    def strings(nodes):
        return [{"strings": n, "length": k, "output": 1, "nodes": nodes(n, k)} for n in (16, 64) for k in (4, 8)]

    assert judged(strings=strings(lambda n, k: 1.01 * k * (log2(n) + k)))[25] == "fails"
    assert judged(strings=strings(lambda n, k: 0.01 * k * k * n))[25] == "fails"  # below the bound, but linear in N


def test_one_index_must_visit_fewer_nodes():
    rows = [{"index": "one", "nodes": 9, "matched": 1}, {"index": "one per operator", "nodes": 9, "matched": 1}]
    assert judged(united=rows)[26] == "fails"
