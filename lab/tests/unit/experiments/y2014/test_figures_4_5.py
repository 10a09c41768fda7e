"""Verdicts on Figures 4 and 5 and on the link load, from tables written by hand."""

import pyarrow as pa
import pytest

from cbnet_lab.experiments.y2014.trees import FIGURE_4, FIGURE_5, LINK_LOAD

GRAPH = pa.table({"nodes": [41_203], "edges": [121_309], "from_file": [True]})
PARAMETERS = FIGURE_4.parameters(nodes=0, trees=(8, 128), selections=1, sources=1)


def row(trees, of, over, p1, p25, p75, p99, mean):
    percentiles = {"p1": p1, "p25": p25, "p50": (p25 + p75) / 2, "p75": p75, "p99": p99}
    return {"trees": trees, "of": of, "over": over, "mean": mean, **percentiles}


def verdicts(mean=(0.9, 1.2, 1.8, 2.1), worst=(2.4, 2.6, 4.0, 5.6), many=1.5, graph=GRAPH):
    averaged = "pairs, averaged over the selections"
    rows = [
        row(8, "mean of the trees", averaged, *mean, 1.5), row(8, "worst tree", averaged, *worst, 3.0),
        *(row(k, of, over, 0.0, 1.0, 2.0, 9.0, {8: 1.5, 128: many}[k])
          for k in (8, 128) for of in ("mean of the trees", "worst tree") for over in ("pairs", "sources")),
    ]  # fmt: skip
    tables = {"graph": graph, "extra": pa.Table.from_pylist(rows)}
    return {finding.claim: finding.verdict for finding in FIGURE_4.findings(tables, PARAMETERS)}


def test_ranges_like_the_papers_hold():
    assert verdicts() == {73: "differs", 74: "holds", 75: "holds", 76: "holds"}


@pytest.mark.parametrize(
    ("changed", "claim", "verdict"),
    [
        ({"mean": (0.4, 1.2, 1.8, 2.5)}, 74, "differs"),  # the middle half is in the range, the ends are not
        ({"mean": (0.9, 0.95, 1.8, 2.1)}, 74, "fails"),
        ({"worst": (1.8, 2.6, 3.2, 4.0)}, 75, "differs"),
        ({"worst": (1.8, 2.4, 3.2, 4.0)}, 75, "fails"),
        ({"many": 1.8}, 76, "fails"),
        ({"graph": pa.table({"nodes": [41_203], "edges": [150_000], "from_file": [True]})}, 73, "fails"),
        ({"graph": pa.table({"nodes": [42_113], "edges": [118_040], "from_file": [True]})}, 73, "holds"),
        ({"graph": pa.table({"nodes": [2_000], "edges": [5_600], "from_file": [False]})}, 73, "unmeasured"),
    ],
)
def test_other_ranges_do_not(changed, claim, verdict):
    assert verdicts(**changed)[claim] == verdict


def distinct(smallest=(7, 85), other=(21, 111), trees=128):
    rows = [
        {"ties": ties, "trees": trees, "p99": p99, "least_largest": largest - 1, "largest": largest}
        for ties, (p99, largest) in (("smallest parent", smallest), ("random parent", other))
    ]
    tables = {"graph": GRAPH, "interfaces": pa.Table.from_pylist(rows)}
    found = FIGURE_5.findings(tables, FIGURE_5.scales["quick"])
    return {finding.claim: finding.verdict for finding in found}


def test_tie_rule_of_all_our_results_decides():
    assert distinct() == {77: "differs", 78: "holds"}
    assert distinct(other=(9, 111)) == {77: "holds", 78: "holds"}
    assert distinct(smallest=(11, 49), other=(9, 90)) == {77: "fails", 78: "fails"}
    assert distinct(trees=64)[78] == "unmeasured"


@pytest.mark.parametrize(
    ("used", "largest", "verdict"), [(200, 0.1, "holds"), (100, 0.1, "fails"), (200, 0.3, "fails")]
)
def test_trees_have_to_spread_the_load(used, largest, verdict):
    rows = [{"trees": 1, "used": 100, "largest": 0.3}, {"trees": 8, "used": used, "largest": largest}]
    tables = {"graph": GRAPH, "load": pa.Table.from_pylist(rows)}
    [finding] = LINK_LOAD.findings(tables, None)
    assert finding.verdict == verdict
