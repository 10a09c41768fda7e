import pyarrow as pa

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2002.figures_7_to_9 import FIGURE_7B

TINY = FIGURE_7B.parameters(filters=(100, 200), interfaces=(5, 0), messages=10, turns=2, seconds=0.0)


def judged(us, selective=1.0, filters=(1000, 10_000, 100_000, 1_000_000)):
    rows = [
        {"case": f"I = {i}" if i else "I = F", "interfaces": i or f, "filters": f, "method": method, "turn": turn}
        | {"us": us(f, i or f) * share}
        for f in filters
        for i in (20, 500, 0)
        for method, share in (("counting", 1.0), ("counting, 10 rounds", selective), ("pivot", 0.1))
        for turn in (0, 1, 2)
    ]
    found = FIGURE_7B.findings({"times": pa.Table.from_pylist(rows)}, TINY)
    return {finding.claim: finding for finding in found}


def test_square_root_growth_is_sublinear():
    found = judged(lambda f, i: f if i == f else f**0.5)
    assert (found[31].verdict, found[32].verdict) == ("holds", "holds")
    assert found[31].ours.startswith("I = 20: slope 0.50, 1000.0 times as fast")
    assert "110 to 1 for I = 20" in found[31].ours
    assert judged(lambda f, _: f)[31].verdict == "fails"
    assert judged(lambda f, i: f / 20 if i == 20 else f)[31].verdict == "fails"  # faster, but not sublinear
    assert judged(lambda f, i: f if i >= 500 else 1.0)[31].verdict == "differs"  # not with 500, which is our choice


def test_ten_rounds_must_change_less_than_five_percent():
    assert judged(lambda f, _: f, selective=1.04)[32].verdict == "holds"
    assert judged(lambda f, _: f, selective=0.94)[32].verdict == "fails"
    found = judged(lambda f, _: f, selective=1.06)[32]
    assert (found.verdict, "1.06 (1.06 to 1.06) at I = 20, 10,000 filters" in found.ours) == ("fails", True)


def test_smaller_tables_decide_nothing():
    found = judged(lambda f, i: f if i == f else f**0.5, filters=(1000, 100_000))
    assert (found[31].verdict, found[32].verdict) == ("unmeasured", "unmeasured")


def test_tiny_run_includes_one_interface_per_filter():
    tables = FIGURE_7B.run(TINY, ExperimentContext())
    cases = {(row["case"], row["filters"], row["interfaces"]) for row in tables["times"].to_pylist()}
    assert cases == {("I = 5", 100, 5), ("I = 5", 200, 5), ("I = F", 100, 100), ("I = F", 200, 200)}
    assert {finding.claim for finding in FIGURE_7B.findings(tables, TINY)} == {31, 32}
