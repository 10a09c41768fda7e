import pyarrow as pa
import pytest

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2002.figures_7_to_9 import FIGURE_7A

TINY = FIGURE_7A.parameters(filters=(50, 200), interfaces=(20,), messages=10, turns=2, seconds=0.0)


def judged(filters, us, selective):
    """Judge tables in which a message takes so many µs for each filter, and so much of that with 10 rounds."""
    rows = [
        {"case": "I = F", "method": method, "filters": f, "constraints": 5 * f, "turn": turn, "us": f * us * share}
        for f in filters
        for method, share in (("counting", 1.0), ("counting, 10 rounds", selective), ("pivot", 0.1))
        for turn in (0, 1, 2)
    ]
    found = FIGURE_7A.findings({"times": pa.Table.from_pylist(rows)}, TINY)
    return {finding.claim: finding for finding in found}


def test_measurements_of_the_paper_hold():
    found = judged((1000, 10_000, 100_000, 1_000_000), 0.55, 0.6)  # 330 ms with 10 rounds
    assert (found[29].verdict, found[30].verdict) == ("holds", "holds")
    assert found[29].ours == "330 ms at 1,000,000 filters (counting 550 ms, pivot 55 ms)"
    assert found[30].ours.startswith("at most 40% (40% to 40%)")


@pytest.mark.parametrize(("selective", "verdict"), [(0.64, "holds"), (0.8, "fails"), (1.1, "fails"), (0.4, "fails")])
def test_largest_gain_must_be_about_40_percent(selective, verdict):
    assert judged((10_000, 1_000_000), 0.1, selective)[30].verdict == verdict


def test_slower_than_in_2002_fails():
    assert judged((10_000, 1_000_000), 0.34, 1.0)[29].verdict == "fails"


def test_smaller_tables_decide_nothing():
    found = judged((10_000, 100_000), 0.1, 0.6)
    assert (found[29].verdict, found[30].verdict) == ("unmeasured", "unmeasured")
    assert "it would be 60 ms" in found[29].reason
    assert judged((100, 1000), 0.1, 0.5)[30].ours == "none"


def test_tiny_run_has_all_methods_at_all_sizes():
    tables = FIGURE_7A.run(TINY, ExperimentContext())
    sizes = {(row["case"], row["filters"], row["interfaces"]) for row in tables["times"].to_pylist()}
    assert sizes == {("I = F", 50, 50), ("I = F", 200, 200), ("I = 20", 200, 20)}
    (chart,) = FIGURE_7A.charts(tables, TINY)
    assert set(chart.table.column("method").to_pylist()) == {"counting", "counting, 10 rounds", "pivot"}
