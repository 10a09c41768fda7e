import numpy as np
import pyarrow as pa
import pytest

from cbnet.errors import InputError
from cbnet.routing.sizing.advantage import Predicates, expected
from cbnet_lab.experiments.y2006.figures_5_to_7 import FIGURE_5, FIGURES_6_7
from cbnet_lab.experiments.y2006.monte_carlo import (
    GENERAL_COUNTS,
    SCHEMA,
    counts_up_to,
    general_advantages,
    specific_advantages,
)
from cbnet_lab.workload import Disjunction2006, predicates


@pytest.fixture(scope="module")
def small():
    return specific_advantages(["uniform-50"], sets=5, max_predicates=100, seed=4)


def column(table, scenario, rule, name):
    return [row[name] for row in table.to_pylist() if (row["scenario"], row["rule"]) == (scenario, rule)]


def test_counts_grow_by_decades_and_then_by_tenths():
    assert counts_up_to(10_000) == (
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10_000,
    )  # fmt: skip
    assert counts_up_to(100) == (1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
    assert counts_up_to(7) == (1, 2, 3, 4, 5, 6, 7)
    assert counts_up_to(1) == (1,)


def test_row_has_the_percentiles_over_the_sets(small):
    assert small.schema == SCHEMA
    assert column(small, "uniform-50", "full", "predicates") == list(counts_up_to(100))
    for rule in ("pairwise", "full"):
        alphas = [
            Predicates(predicates(Disjunction2006(100, 50, seed=4, set=number))).advantages([100], rule)[0]
            for number in range(5)
        ]
        [row] = [row for row in small.to_pylist() if (row["rule"], row["predicates"]) == (rule, 100)]
        assert (row["min"], row["p50"], row["max"], row["sets"]) == (min(alphas), np.median(alphas), max(alphas), 5)
        # on a straight line between the five sorted values, the 5th percentile lies a fifth of the first step up
        first, second = sorted(alphas)[:2]
        assert row["p5"] == pytest.approx(first + (second - first) / 5)
        assert row["p5"] <= row["p50"] <= row["p95"]


def test_progress_counts_sets_and_the_seed_changes_results(small):
    done = []
    again = specific_advantages(
        ["uniform-50"], sets=5, max_predicates=100, seed=4, progress=lambda *counts: done.append(counts)
    )
    assert again.equals(small)
    assert done == [(count, 5) for count in range(1, 6)]
    assert not specific_advantages(["uniform-50"], sets=5, max_predicates=100, seed=5).equals(small)


def test_uniform_general_model_follows_the_closed_form():
    table = general_advantages([1000], sets=40, processes=1)
    assert table.schema == SCHEMA
    assert column(table, "uniform-1000", "distinct", "predicates") == list(GENERAL_COUNTS)
    for count, median in zip(GENERAL_COUNTS, column(table, "uniform-1000", "distinct", "p50"), strict=True):
        assert median == pytest.approx(expected(count, 10, 1000), abs=0.02)
    found = {finding.claim: finding for finding in FIGURE_5.findings({"advantages": table}, None)}
    assert found[61].ours == "at 19 of 19 points"


def test_term_counts_that_overflow_are_rejected(tmp_path):
    (tmp_path / "terms.tsv").write_text("year\t1e308\nnet\t1e308\n")
    with pytest.raises(InputError, match=r"terms\.tsv: the sum of the counts of the terms is too large"):
        specific_advantages(["uniform-50"], sets=1, max_predicates=10, terms=tmp_path / "terms.tsv")


# --- claims, on tables written by hand ----------------------------------------------------


def rows(scenario, medians, rules=("pairwise", "full"), spread=0.02, sets=20):
    return [
        {"scenario": scenario, "rule": rule, "predicates": count, "min": 0.0, "p5": median - spread, "p50": median}
        | {"p95": median + spread, "max": 1.0, "sets": sets}
        for rule in rules
        for count, median in medians.items()
    ]


def judged(*parts):
    table = pa.Table.from_pylist([row for part in parts for row in part], schema=SCHEMA)
    return {finding.claim: finding for finding in FIGURES_6_7.findings({"advantages": table}, None)}


def test_number_where_one_half_is_reached_is_interpolated():
    found = judged(rows("uniform-500", {10: 1.0, 100: 0.9, 6000: 0.52, 7000: 0.48}))
    # the median falls by 0.04 in 1000 predicates, so by 0.02 in 500; its 95th percentile begins at 0.54 and ends at 0.50
    text = "uniform-500: below 0.5 (pairwise): median from about 6,500 on; 95th percentile not up to 7,000"
    assert text in found[67].ours
    assert found[67].verdict == "holds"
    assert found[64].ours.startswith("the median falls at 2 of 2 steps from 10 or more to ten times as many")
    early = judged(rows("uniform-500", {1: 0.4}))[67]
    assert "(full): median from about 1 on; 95th percentile from about 1 on" in early.ours
    assert early.verdict == "fails"


def test_run_that_ends_before_7000_predicates_does_not_decide():
    short = judged(rows("uniform-500", {10: 1.0, 100: 0.9}))[67]
    assert "(full): median not up to 100; 95th percentile not up to 100" in short.ours
    assert short.verdict == "unmeasured"
    assert judged(rows("uniform-500", {10: 1.0, 10_000: 0.9}))[67].verdict == "fails"


def test_only_the_rules_of_the_paper_decide():
    pairwise = rows("uniform-500", {10: 1.0, 6000: 0.52, 7000: 0.48}, ("pairwise",))
    assert judged(pairwise, rows("uniform-500", {10: 0.9, 900: 0.4}, ("full",)))[67].verdict == "holds"
    assert (
        judged(rows("uniform-500", {10: 0.9, 900: 0.4}, ("pairwise",)), rows("zipf-500", {10: 1.0}))[67].verdict
        == "fails"
    )


def test_claim_about_more_predicates_than_were_run_is_unmeasured():
    found = judged(rows("uniform-500", {1: 1.0, 5: 0.9}), rows("zipf-500", {1: 1.0, 5: 0.8}))
    assert (found[64].verdict, found[65].verdict) == ("unmeasured", "unmeasured")


def test_few_sets_leave_percentile_claims_unmeasured():
    medians = {10: 0.9, 100: 0.8, 1000: 0.5}
    for sets, verdict in ((1, "unmeasured"), (19, "unmeasured"), (20, "holds")):
        assert judged(rows("zipf-500", medians, sets=sets))[66].verdict == verdict
    assert judged(rows("zipf-500", medians, sets=1, spread=0.0))[64].verdict == "unmeasured"
    assert judged(rows("zipf-500", {10: 0.9, 100: 0.8}))[64].verdict == "unmeasured"  # it may close later


def test_zipf_and_uniform_are_compared_where_both_were_run():
    uniform = rows("uniform-500", {1: 1.0, 10: 0.9, 100: 0.8})
    assert judged(uniform, rows("zipf-500", {1: 1.0, 10: 0.8, 100: 0.7}))[65].verdict == "holds"
    tied = judged(uniform, rows("zipf-500", {1: 1.0, 10: 0.9, 100: 0.7}))[65]
    assert (tied.verdict, tied.ours) == ("holds", "lower at 2 of 4 points from 10 predicates on, higher at 0")
    worse = judged(uniform, rows("zipf-500", {1: 1.0, 10: 0.8, 100: 0.9}))[65]
    assert (worse.verdict, worse.ours) == ("fails", "lower at 2 of 4 points from 10 predicates on, higher at 2")
    assert (judged(uniform)[65].verdict, judged(uniform)[65].ours) == ("unmeasured", "none")


def test_scenario_reliably_at_one_half_is_named():
    found = judged(rows("zipf-500", {50: 0.9, 100: 0.8}), rows("uniform-50", {50: 0.5, 100: 0.4}))[66]
    assert found.ours == "lowest 95th percentile at 100: 0.42 (uniform-50, pairwise)"
    assert found.verdict == "fails"
    assert judged(rows("zipf-500", {50: 0.9}))[66].verdict == "unmeasured"


def test_spread_that_does_not_close_fails():
    wide, narrow = rows("zipf-500", {10: 0.9, 100: 0.8}, spread=0.1), rows("zipf-500", {1000: 0.5}, spread=0.01)
    closing = judged(wide, narrow)[64]
    assert closing.verdict == "holds"
    assert closing.ours.endswith("zipf-500 0.20 at 10, 0.02 at 1,000")
    assert judged(rows("zipf-500", {10: 0.9, 100: 0.8, 1000: 0.5}))[64].verdict == "fails"


def test_savings_of_five_predicates_are_reported_per_universe():
    medians = {"uniform-1000": 0.9802, "zipf-1000": 0.6, "uniform-500": 0.98, "zipf-500": 0.55}
    parts = [rows(scenario, {5: median}, ("distinct", "draws")) for scenario, median in medians.items()]
    table = pa.Table.from_pylist([row for part in parts for row in part], schema=SCHEMA)
    found = {finding.claim: finding for finding in FIGURE_5.findings({"advantages": table}, None)}
    assert found[62].ours.endswith("(k draws): 45% (500), 40% (1,000)")
    assert found[62].verdict == "unmeasured"  # not the universes of the paper
    # |M|/nk (1 - 0.99^5) = 0.980199; (1 - e^-0.05) / 0.05 = 0.975412
    assert found[60].ours == (
        "differs from the closed form by at most 0.0002 (500), 0.0000 (1,000), "
        "from (1 - e^-x) / x by at most 0.0046 (500), 0.0048 (1,000)"
    )
