"""Figures 4 and 5 and the link load of [2014] on a graph that is a tree, where the results are known."""

import pytest

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2014.trees import FIGURE_4, FIGURE_5, LINK_LOAD


@pytest.fixture(scope="module")
def context(spark, tmp_path_factory):
    path = tmp_path_factory.mktemp("graph") / "tree.edges"
    path.write_text("".join(f"{node} {(node - 1) // 2}\n" for node in range(1, 31)))
    return ExperimentContext(topology=path, spark=lambda: spark)


@pytest.fixture(scope="module")
def generated(spark):
    return ExperimentContext(spark=lambda: spark)


def verdicts(findings):
    return {finding.claim: finding.verdict for finding in findings}


def test_graph_that_is_a_tree_has_no_extra_hops(context):
    parameters = FIGURE_4.parameters(nodes=0, trees=(8, 16), selections=2, sources=31)
    tables = FIGURE_4.run(parameters, context)
    rows = tables["extra"].to_pylist()
    # numbers of trees, mean and worst, pairs and sources; and pairs averaged over the selections, with 8 trees
    assert len(rows) == 2 * 2 * 2 + 2
    assert {row[name] for row in rows for name in ("mean", "p1", "p50", "p99")} == {0.0}
    assert tables["graph"].to_pylist() == [{"nodes": 31, "edges": 30, "from_file": True}]
    found = FIGURE_4.findings(tables, parameters)
    assert set(verdicts(found).values()) == {"unmeasured"}  # a graph of 31 nodes


def test_graph_that_is_a_tree_has_one_distinct_tree_per_interface(context):
    parameters = FIGURE_5.parameters(nodes=0, trees=(8, 128), selections=2)
    tables = FIGURE_5.run(parameters, context)
    for row in tables["interfaces"].to_pylist():
        assert row["used"] == 60  # both ends of 30 links
        assert {row[name] for name in ("mean", "p1", "p99", "least_largest", "largest")} == {1}


def test_more_trees_do_not_spread_load_on_a_graph_that_is_a_tree(context):
    parameters = FIGURE_5.parameters(nodes=0, trees=(1, 8), selections=2)
    tables = LINK_LOAD.run(parameters, context)
    one, eight = tables["load"].to_pylist()
    assert one["used"] == eight["used"] == 30
    # 15 nodes are on each side of the root: 15 · 16 paths each way, of 31 · 30.
    assert one["largest"] == pytest.approx(2 * 15 * 16 / (31 * 30), abs=1e-6)
    assert eight["largest"] == pytest.approx(one["largest"], abs=1e-6)


def test_worst_of_more_trees_is_never_better(generated):
    parameters = FIGURE_4.parameters(nodes=60, trees=(8, 32), selections=2, sources=60)
    tables = FIGURE_4.run(parameters, generated)
    rows = {(row["trees"], row["of"], row["over"]): row for row in tables["extra"].to_pylist()}
    for over in ("pairs", "sources"):
        few, many = (rows[k, "worst tree", over] for k in (8, 32))
        assert few["mean"] <= many["mean"]
        assert rows[8, "mean of the trees", over]["mean"] <= few["mean"]
    for row in rows.values():
        places = [row[name] for name in ("p1", "p25", "p50", "p75", "p99")]
        assert places == sorted(places)


def test_small_graph_decides_no_claim(generated):
    for experiment, parameters in (
        (FIGURE_4, FIGURE_4.parameters(nodes=60, trees=(8,), selections=1, sources=10)),
        (FIGURE_5, FIGURE_5.parameters(nodes=60, trees=(8,), selections=1)),
        (LINK_LOAD, FIGURE_5.parameters(nodes=60, trees=(1, 8), selections=1)),
    ):
        found = experiment.findings(experiment.run(parameters, generated), parameters)
        assert set(verdicts(found)) == set(experiment.claims)
        assert set(verdicts(found).values()) == {"unmeasured"}
