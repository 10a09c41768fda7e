"""Verdicts on folding, from tables written by hand."""

import pyarrow as pa
import pytest

from cbnet_lab.experiments.y2014.folding import EXPERIMENT

LARGE = {"nodes": [41_203], "edges": [121_309], "from_file": [True]}


def verdicts(folded, different=0, grouped=None, spark=None, graph=LARGE, clusters=2_500_000):
    """Return the verdicts on the folded entries by number of trees; each separate table has 100."""
    rows = [
        {
            "trees": k,
            "per_tree": 100 * k,
            "grouped": grouped or 100 * k,
            "folded": size,
            "folded_on_spark": spark or size,
        }
        for k, size in folded.items()
    ]
    tables = {
        "graph": pa.table(graph),
        "decisions": pa.Table.from_pylist([{"decisions": 10, "different": different}]),
        "entries": pa.Table.from_pylist(rows),
    }
    parameters = EXPERIMENT.parameters(nodes=0, clusters=clusters, trees=tuple(folded), networks=1, messages=1)
    return {finding.claim: finding.verdict for finding in EXPERIMENT.findings(tables, parameters)}


def test_folding_that_saves_at_every_number_of_trees_holds():
    assert verdicts({1: 100, 8: 400, 128: 900}) == {72: "holds", 90: "holds"}


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({"folded": {1: 100, 8: 797, 128: 900}}, "fails"),  # 0.4 % saved with 8 trees
        ({"different": 1}, "fails"),
        ({"spark": 7}, "fails"),
        ({"folded": {1: 100, 8: 400, 64: 900}}, "unmeasured"),  # the paper has 128 trees
        ({"grouped": 50}, "differs"),
    ],
)
def test_folding_without_savings_or_with_other_decisions_fails(changed, verdict):
    assert verdicts(**({"folded": {1: 100, 8: 400, 128: 900}} | changed))[72] == verdict


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({"folded": {1: 100, 128: 1001}}, "fails"),  # more than ten times one tree
        ({"folded": {1: 100, 64: 900}}, "unmeasured"),
        ({"clusters": 10_000}, "unmeasured"),
        ({"graph": {"nodes": [500], "edges": [800], "from_file": [False]}}, "unmeasured"),
        ({"graph": {"nodes": [42_113], "edges": [118_040], "from_file": [False]}}, "differs"),
    ],
)
def test_handful_of_tables_is_manageable(changed, verdict):
    assert verdicts(**({"folded": {1: 100, 128: 1000}} | changed))[90] == verdict
