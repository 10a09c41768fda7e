"""Figures 4 and 5 of [2014] and the load of links, where the answer is known: on a graph that is a tree."""

import pytest

from cbnet.lab.experiments.experiment import Context
from cbnet.lab.experiments.y2014 import figure_4 as figure_4_2014
from cbnet.lab.experiments.y2014 import figure_5 as figure_5_2014
from cbnet.lab.experiments.y2014 import link_load as link_load_2014


@pytest.fixture(scope="module")
def context(spark, tmp_path_factory):
    path = tmp_path_factory.mktemp("graph") / "tree.edges"
    path.write_text("".join(f"{node} {(node - 1) // 2}\n" for node in range(1, 31)))
    return Context(topology=path, spark=lambda: spark)


@pytest.fixture(scope="module")
def generated(spark):
    return Context(spark=lambda: spark)


def verdicts(findings):
    return {finding.claim: finding.verdict for finding in findings}


def test_on_a_tree_no_way_is_longer(context):
    parameters = figure_4_2014.Parameters(0, (8, 16), 31, 2)
    tables = figure_4_2014.run(parameters, context)
    rows = tables["extra"].to_pylist()
    assert len(rows) == 2 * 2 * 2  # numbers of trees, mean and worst, pairs and sources
    assert {row[name] for row in rows for name in ("mean", "p1", "p50", "p99")} == {0.0}
    assert tables["graph"].to_pylist() == [{"nodes": 31, "edges": 30, "given": True}]
    found = figure_4_2014.findings(tables, parameters)
    assert verdicts(found) == {73: "differs", 74: "fails", 75: "fails", 76: "holds"}


def test_on_a_tree_all_trees_look_alike(context):
    parameters = figure_5_2014.Parameters(0, (8, 128), 2)
    tables = figure_5_2014.run(parameters, context)
    for row in tables["interfaces"].to_pylist():
        assert row["used"] == 60  # both ends of 30 links
        assert {row[name] for name in ("mean", "p1", "p99", "least_largest", "largest")} == {1}
    assert verdicts(figure_5_2014.findings(tables, parameters)) == {77: "holds", 78: "fails"}


def test_on_a_tree_more_trees_spread_nothing(context):
    parameters = link_load_2014.Parameters(0, (1, 8), 2)
    tables = link_load_2014.run(parameters, context)
    one, eight = tables["load"].to_pylist()
    assert one["used"] == eight["used"] == 30
    # Below the root 15 nodes stand on each side: 15 · 16 ways there and as many back, of 31 · 30.
    assert one["largest"] == pytest.approx(2 * 15 * 16 / (31 * 30), abs=1e-6)
    assert eight["largest"] == pytest.approx(one["largest"], abs=1e-6)
    assert verdicts(link_load_2014.findings(tables, parameters)) == {69: "fails"}


def test_the_worst_of_more_trees_is_never_better(generated):
    parameters = figure_4_2014.Parameters(60, (8, 32), 60, 2)
    tables = figure_4_2014.run(parameters, generated)
    rows = {(row["trees"], row["of"], row["over"]): row for row in tables["extra"].to_pylist()}
    for over in ("pairs", "sources"):
        few, many = (rows[k, "worst tree", over] for k in (8, 32))
        assert few["mean"] <= many["mean"]
        assert rows[8, "mean of the trees", over]["mean"] <= few["mean"]
    for row in rows.values():
        places = [row[name] for name in ("p1", "p25", "p50", "p75", "p99")]
        assert places == sorted(places)


def test_a_generated_graph_alone_settles_nothing(generated):
    for module, parameters in (
        (figure_4_2014, figure_4_2014.Parameters(60, (8,), 10, 1)),
        (figure_5_2014, figure_5_2014.Parameters(60, (8,), 1)),
        (link_load_2014, link_load_2014.Parameters(60, (1, 8), 1)),
    ):
        found = module.findings(module.run(parameters, generated), parameters)
        assert set(verdicts(found)) == set(module.EXPERIMENT.claims)
        assert set(verdicts(found).values()) <= {"differs", "open"}
