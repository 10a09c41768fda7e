import pytest

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2014.folding import EXPERIMENT

PARAMETERS = EXPERIMENT.parameters(nodes=30, clusters=4, trees=(1, 3), networks=2, messages=10)


@pytest.fixture(scope="module")
def tables(spark):
    return EXPERIMENT.run(PARAMETERS, ExperimentContext(spark=lambda: spark))


def test_folded_tables_make_the_same_decisions(tables):
    for row in tables["decisions"].to_pylist():
        assert row["decisions"] == row["nodes"] * row["trees"] * 10
        assert row["different"] == 0


def test_folding_in_memory_and_on_spark_agree_and_never_grow_tables(tables):
    one, three = tables["entries"].to_pylist()
    assert len({one[name] for name in ("per_tree", "grouped", "folded", "grouped_and_folded", "folded_on_spark")}) == 1
    assert three["folded"] == three["folded_on_spark"]
    assert three["grouped_and_folded"] <= three["folded"] <= three["per_tree"]
    assert one["folded"] <= three["per_tree"]


def test_every_claim_has_a_finding(tables):
    found = EXPERIMENT.findings(tables, PARAMETERS)
    assert [finding.claim for finding in found] == list(EXPERIMENT.claims)
    assert found[0].verdict in ("unmeasured", "fails")  # three trees, which may save nothing
    assert found[1].verdict == "unmeasured"  # a small population and graph
