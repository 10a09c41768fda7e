import re
from pathlib import Path

import pytest

from cbnet_lab.experiments.claim import OPERATORS, VERDICTS, Check, Claim, Finding, claims

ROOT = Path(__file__).parents[4]
TESTS = (ROOT / "tests", ROOT / "lab" / "tests")


def test_ninety_claims_are_numbered_in_order():
    assert list(claims()) == list(range(1, 91))


def test_every_claim_is_complete():
    for claim in claims().values():
        assert claim.paper in ("2001", "2002", "2003", "2006", "2014")
        assert claim.section.startswith("§")
        assert claim.statement.endswith(".")
        assert claim.value
        assert claim.method
        assert claim.rule


def test_claims_follow_the_order_of_the_papers():
    papers = [claim.paper for claim in claims().values()]
    assert papers == sorted(papers)


def test_every_claim_has_checks_or_tests_but_not_both():
    for claim in claims().values():
        assert bool(claim.tests) != bool(claim.experiment and (claim.checks or claim.undecidable)), claim.number
        assert (claim.verdict == "holds") or (claim.tests and claim.difference)


def test_every_check_has_an_operator_a_verdict_and_a_reason():
    for check in (check for claim in claims().values() for check in claim.checks):
        assert check.operator in OPERATORS
        assert check.otherwise in {*VERDICTS, "needs traces"} - {"holds"}
        assert check.reason


@pytest.mark.parametrize("number", [number for number, claim in claims().items() if claim.tests])
def test_every_named_test_exists(number):
    for test in claims()[number].tests:
        file, _, name = test.partition("::")
        texts = [path.read_text(encoding="utf-8") for tests in TESTS for path in tests.rglob(file)]
        assert any(re.search(rf"^def {name}\(", text, re.MULTILINE) for text in texts), f"there is no {test}"


@pytest.mark.parametrize("verdict", [verdict for verdict in VERDICTS if verdict != "holds"])
def test_every_verdict_but_holds_needs_a_reason(verdict):
    Finding(1, "2, 3", verdict, "because")
    with pytest.raises(ValueError, match="needs a reason"):
        Finding(1, "2, 3", verdict)


def test_open_claims_name_what_was_missing():
    assert Finding(1, "-", "open", "did not run", "run").label == "not run"
    assert Finding(1, "-", "open", "no traces", "traces").label == "not run: needs --traces"
    assert Finding(1, "3", "holds").label == "holds"
    with pytest.raises(ValueError, match="only an open claim"):
        Finding(1, "3", "fails", "too many", "run")


def test_rule_shows_the_thresholds():
    checks = (
        Check("end.us", "<=", 400_000, "fails", "slow"),
        Check("share", "±%", [0.5, 0.2], "fails", "far"),
        Check("power", "between", [0.8, 1.2], "fails", "not linear"),
    )
    text = "at most {end_us:duration}, {share.low:.0%} to {share.high:.0%}, within {share.by:.0%}, up to {power.high}"
    claim = Claim(1, "2001", "§1", "So.", "so", "so", text, checks=checks)
    assert claim.rule == "at most 400 ms, 40% to 60%, within 20%, up to 1.2"
