import pyarrow as pa
import pytest

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2002.figures_7_to_9 import FIGURE_8

TINY = FIGURE_8.parameters(filters=200, each=(1, 10, 200), messages=10, turns=2, seconds=0.0)


def judged(times, gains, filters=1_000_000):
    rows = [
        {"each": each, "filters": filters, "constraints": 5 * filters, "method": method, "turn": turn, "us": us * share}
        for (each, us), gain in zip(times.items(), gains, strict=True)
        for method, share in (("counting", 1.0), ("counting, 10 rounds", 1 - gain), ("pivot", 0.1))
        for turn in (0, 1, 2)
    ]
    found = FIGURE_8.findings({"times": pa.Table.from_pylist(rows)}, TINY)
    return {finding.claim: finding.verdict for finding in found}


@pytest.mark.parametrize(
    ("times", "gains", "verdicts"),
    [
        ({1: 100.0, 100: 50.0, 1000: 5.0}, (0.4, 0.0, 0.0), {33: "holds", 34: "holds"}),
        ({1: 100.0, 100: 150.0, 1000: 5.0}, (0.4, 0.2, 0.2), {33: "fails", 34: "fails"}),  # rises; helps with many too
        ({1: 100.0, 100: 50.0, 1000: 60.0}, (0.0, 0.0, 0.0), {33: "fails", 34: "fails"}),  # the largest is not the best
    ],
)
def test_time_must_fall_and_rounds_must_help_with_few_filters(times, gains, verdicts):
    assert judged(times, gains) == verdicts


def test_small_table_decides_nothing():
    assert judged({1: 100.0, 100: 50.0}, (0.4, 0.0), filters=1000) == {33: "unmeasured", 34: "unmeasured"}


def test_tiny_run_keeps_the_filters_and_varies_the_interfaces():
    tables = FIGURE_8.run(TINY, ExperimentContext())
    rows = tables["times"].to_pylist()
    assert {(row["filters"], row["each"], row["interfaces"]) for row in rows} == {
        (200, 1, 200),
        (200, 10, 20),
        (200, 200, 1),
    }
    assert "1 to" not in FIGURE_8.charts(tables, TINY)[0].title
