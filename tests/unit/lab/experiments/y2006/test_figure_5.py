import pytest

from cbnet.lab.experiments.experiment import ExperimentContext
from cbnet.lab.experiments.y2006.figure_5 import EXPERIMENT, Figure5Parameters2006
from cbnet.routing.sizing.advantage import expected

TINY = Figure5Parameters2006((10_000,), sets=10)


@pytest.fixture(scope="module")
def tables():
    return EXPERIMENT.run(TINY, ExperimentContext())


def test_uniform_sets_follow_the_closed_form_and_zipf_is_below(tables):
    rows = {(row["scenario"], row["rule"], row["predicates"]): row["p50"] for row in tables["advantages"].to_pylist()}
    for count in (2, 10, 100):
        uniform = rows["uniform-10000", "distinct", count]
        assert uniform == pytest.approx((1 - 0.99**count) / (count / 100), abs=0.02)
        assert rows["zipf-10000", "distinct", count] < uniform
    found = {finding.claim: finding for finding in EXPERIMENT.findings(tables, TINY)}
    assert list(found) == [60, 61, 62]
    assert found[61].verdict == "holds"
    assert "k distinct messages" in found[62].ours
    assert "k draws" in found[62].ours


def test_second_chart_ends_at_a_tenth(tables):
    whole, zoomed = EXPERIMENT.charts(tables, TINY)
    assert max(zoomed.table.column("ratio").to_pylist()) <= 0.1
    assert all("zipf" in series for series in zoomed.table.column("series").to_pylist())
    closed = [row["alpha"] for row in whole.table.to_pylist() if row["series"] == "closed form"]
    assert set(whole.table.column("of").to_pylist()) == {"predicates of k distinct messages", "predicates of k draws"}
    assert closed[0] == expected(1, 100, 10_000) == 1.0
