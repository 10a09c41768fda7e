from dataclasses import replace

import pytest

from cbnet_lab.experiments.claim import Check, Claim, Finding, judge

CLAIM = Claim(
    5,
    "2001",
    "§1",
    "It is fast.",
    "400 ms",
    "measure it",
    "at most {us:duration} with {filters:,} filters",
    ours="{us:duration} at {filters:,} filters",
    checks=(
        Check("filters", ">=", 1000, "unmeasured", "measured up to {filters:,} filters"),
        Check("us", "<=", 400_000, "fails", "slow"),
        Check("curves.slope", "<=", 0.2, "fails", "not flat: {unmet:{case}}"),
        Check("gain", "±", [0.4, 0.05], "differs", "another gain"),
        Check("from_file", "=", True, "differs", "on a generated graph", is_shared=True),
    ),
)
METRICS = {
    "filters": 1000,
    "us": 3000.0,
    "curves": [{"case": "I = 2", "slope": 0.1}, {"case": "I = 5", "slope": 0.2}],
    "gain": 0.4,
    "from_file": True,
}
RULE = "at most 400 ms with 1,000 filters"
STEEP = [{"case": "I = 2", "slope": 0.3}, {"case": "I = 5", "slope": 0.2}]


@pytest.mark.parametrize(
    ("changed", "verdict", "reason"),
    [
        ({}, "holds", ""),
        ({"filters": 999, "us": 5e6}, "unmeasured", "measured up to 999 filters"),  # the first unmet check decides
        ({"us": 400_001.0}, "fails", "slow"),
        ({"us": 400_001.0, "curves": STEEP}, "fails", "slow; not flat: I = 2"),  # reasons of one verdict are joined
        ({"curves": STEEP, "gain": 0.5}, "fails", "not flat: I = 2"),
        ({"curves": STEEP, "from_file": False}, "fails", "not flat: I = 2; on a generated graph"),
        ({"gain": 0.36}, "holds", ""),
        ({"gain": 0.34, "from_file": False}, "differs", "another gain; on a generated graph"),
        ({"gain": None}, "differs", "another gain"),  # a run that has no such number does not meet the check
    ],
)
def test_first_unmet_check_decides(changed, verdict, reason):
    ours = f"{'5 s' if changed.get('us') == 5e6 else '400 ms' if 'us' in changed else '3 ms'}"
    expected = Finding(5, f"{ours} at {changed.get('filters', 1000):,} filters", verdict, reason, rule=RULE)
    assert judge(CLAIM, METRICS | changed) == expected


def test_missing_metric_leaves_no_result():
    assert judge(CLAIM, METRICS | {"us": None}).ours == "none"


def test_difference_and_undecidable_apply_if_all_checks_are_met():
    odd = replace(CLAIM, difference="one n too many")
    assert (judge(odd, METRICS).verdict, judge(odd, METRICS).reason) == ("differs", "one n too many")
    assert judge(odd, METRICS | {"gain": 0.5}).reason == "one n too many; another gain"
    assert judge(odd, METRICS | {"us": 1e9}).reason == "slow"
    assert judge(replace(CLAIM, undecidable="no numbers"), METRICS).verdict == "open"


def test_claim_that_needs_traces_is_not_run():
    claim = replace(CLAIM, checks=(Check("traced", "=", True, "needs traces", "no trace"),), holds_if="so")
    found = judge(claim, METRICS | {"traced": False})
    assert (found.label, found.ours) == ("not run: needs --traces", "-")


@pytest.mark.parametrize(
    ("operator", "threshold", "met", "unmet"),
    [
        ("=", [], [], ["a"]),
        ("<", 1, 0.9, 1),
        (">", 1, 1.1, 1),
        (">=", 1, 1, 0.9),
        ("between", [1, 2], 2, 2.1),
        ("±%", [50, 0.1], 55, 56),
    ],
)
def test_operators(operator, threshold, met, unmet):
    claim = replace(CLAIM, checks=(Check("value", operator, threshold, "fails", "so"),), holds_if="so")
    assert judge(claim, METRICS | {"value": met}).verdict == "holds"
    assert judge(claim, METRICS | {"value": unmet}).verdict == "fails"
