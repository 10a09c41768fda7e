import pyarrow as pa
import pytest

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2006.figures_5_to_7 import FIGURES_6_7
from cbnet_lab.experiments.y2006.monte_carlo import SCHEMA

TINY = FIGURES_6_7.parameters(sets=3, max_predicates=20)


def test_small_run_leaves_claims_open():
    tables = FIGURES_6_7.run(TINY, ExperimentContext(processes=1))
    assert tables["advantages"].schema == SCHEMA
    found = {finding.claim: finding.verdict for finding in FIGURES_6_7.findings(tables, TINY)}
    assert list(found) == [64, 65, 66, 67]
    assert {found[64], found[66], found[67]} == {"unmeasured"}
    six, seven = FIGURES_6_7.charts(tables, TINY)
    assert {row["scenario"] for row in six.table.to_pylist()} == {"zipf-500", "zipf-5000"}
    assert {row["scenario"] for row in seven.table.to_pylist()} == {"uniform-50", "uniform-500"}


def test_table_like_that_of_the_paper_holds():
    medians = {
        "zipf-500": {10: 0.9, 100: 0.7, 1000: 0.4, 10_000: 0.2}, "zipf-5000": {10: 0.95, 100: 0.8, 1000: 0.5, 10_000: 0.3},
        "uniform-50": {10: 0.9, 100: 0.8, 1000: 0.3, 10_000: 0.1}, "uniform-500": {10: 0.99, 100: 0.9, 1000: 0.7, 10_000: 0.4},
    }  # fmt: skip
    spread = {10: 0.01, 100: 0.1, 1000: 0.05, 10_000: 0.01}
    rows = [
        {"scenario": scenario, "rule": rule, "predicates": count, "min": 0.0, "p5": alpha - spread[count], "p50": alpha}
        | {"p95": alpha + spread[count], "max": 1.0, "sets": 100}
        for scenario, curve in medians.items()
        for rule in ("pairwise", "full")
        for count, alpha in curve.items()
    ]
    found = FIGURES_6_7.findings({"advantages": pa.Table.from_pylist(rows, schema=SCHEMA)}, TINY)
    assert [finding.verdict for finding in found] == ["holds"] * 4
    # 0.7 to 0.4 from 1000 to 10,000: one half after two thirds of the way
    assert "median from about 7,000 on" in found[3].ours


def curves(**changed):
    """Return a table like that of the paper, with the curves of some scenarios replaced."""
    medians = {
        "zipf_500": {10: 0.9, 100: 0.7, 1000: 0.4, 10_000: 0.2}, "uniform_500": {10: 0.99, 100: 0.9, 1000: 0.7, 10_000: 0.4},
    } | changed  # fmt: skip
    spread = {10: 0.01, 100: 0.1, 1000: 0.05, 10_000: 0.01}
    rows = [
        {"scenario": name.replace("_", "-"), "rule": rule, "predicates": count, "min": 0.0, "max": 1.0, "sets": 100}
        | {"p5": alpha - spread[count], "p50": alpha, "p95": alpha + spread[count]}
        for name, curve in medians.items()
        for rule in ("pairwise", "full")
        for count, alpha in curve.items()
    ]
    return {"advantages": pa.Table.from_pylist(rows, schema=SCHEMA)}


@pytest.mark.parametrize(
    ("claim", "scenario", "curve"),
    [
        (64, "zipf_500", {10: 0.9, 100: 0.9, 1000: 0.4, 10_000: 0.2}),  # it does not fall from 10 to 100
        (65, "zipf_500", {10: 0.995, 100: 0.7, 1000: 0.4, 10_000: 0.2}),  # above the uniform 0.99
        (66, "zipf_500", {10: 0.9, 100: 0.4, 1000: 0.3, 10_000: 0.2}),  # 95th percentile of one half at 100
        (67, "uniform_500", {10: 0.99, 100: 0.9, 1000: 0.55, 10_000: 0.4}),  # one half at 4,000
    ],
)
def test_curve_that_contradicts_the_paper_fails(claim, scenario, curve):
    def verdict(**changed):
        return {each.claim: each.verdict for each in FIGURES_6_7.findings(curves(**changed), TINY)}[claim]

    assert verdict() == "holds"
    assert verdict(**{scenario: curve}) == "fails"
