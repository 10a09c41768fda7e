import pyarrow as pa
import pytest

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2002.figures_7_to_9 import FIGURE_9

ROUNDS = FIGURE_9.parameters(filters=(200_000, 1_000_000), rounds=(0, 10, 50, 100))
TINY = FIGURE_9.parameters(filters=(50, 100), rounds=(0, 5, 50), messages=10, turns=2, seconds=0.0)


def judged(small, large, most=1_000_000, spread=0.0):
    """Judge two tables by what 10, 50 and 100 rounds gain."""
    rows = [
        {
            "filters": filters,
            "method": f"{rounds} rounds",
            "turn": turn,
            "us": 100 * (1 - gain - spread * (turn - 1) * (rounds > 0)),
        }
        for filters, gains in ((most // 5, small), (most, large))
        for rounds, gain in zip(ROUNDS.rounds, (0.0, *gains), strict=True)
        for turn in (0, 1, 2)
    ]
    found = FIGURE_9.findings({"times": pa.Table.from_pylist(rows)}, ROUNDS)
    return {finding.claim: finding for finding in found}


def test_curves_of_the_paper_hold():
    found = judged((0.2, 0.02, -0.08), (0.4, 0.1, -0.2))
    assert (found[35].verdict, found[36].verdict) == ("holds", "holds")
    # 0.02 to -0.08 in 50 rounds: a fifth of the distance from 50 to 100; 0.1 to -0.2: a third
    assert "200,000 filters: at most 20% at 10 rounds, a loss from about 60 on" in found[35].ours
    assert "1,000,000 filters: at most 40% at 10 rounds, a loss from about 67 on" in found[35].ours


@pytest.mark.parametrize(
    ("small", "large", "verdicts"),
    [
        ((0.2, -0.1, -0.2), (0.1, -0.1, -0.2), ("fails", "fails")),  # a loss too early; the larger gains less
        ((0.2, 0.1, 0.1), (0.3, 0.1, 0.1), ("fails", "holds")),  # never a loss
        ((-0.1, -0.2, -0.3), (0.1, 0.0, -0.1), ("fails", "holds")),
    ],
)
def test_other_curves_differ_or_fail(small, large, verdicts):
    found = judged(small, large)
    assert (found[35].verdict, found[36].verdict) == verdicts


def test_overlapping_gains_are_not_decided():
    assert judged((0.20, 0.02, -0.08), (0.22, 0.1, -0.2), spread=0.05)[36].verdict == "open"
    assert judged((0.20, 0.02, -0.08), (0.40, 0.1, -0.2), spread=0.05)[36].verdict == "holds"


def test_smaller_tables_decide_nothing():
    found = judged((0.2, 0.02, -0.08), (0.4, 0.1, -0.2), most=100_000)
    assert (found[35].verdict, found[36].verdict) == ("unmeasured", "unmeasured")


def test_tiny_run_has_a_method_per_number_of_rounds():
    tables = FIGURE_9.run(TINY, ExperimentContext())
    assert {row["method"] for row in tables["times"].to_pylist()} == {"0 rounds", "5 rounds", "50 rounds", "pivot"}
    (chart,) = FIGURE_9.charts(tables, TINY)
    assert [name for name, _ in chart.references] == ["no gain", "pivot, 50 filters", "pivot, 100 filters"]
    assert [row["gain"] for row in chart.table.to_pylist() if row["rounds"] == 0] == [0.0, 0.0]
