import pytest

from cbnet_lab.experiments.claim import VERDICTS, ClaimRule, Finding, claims


def test_ninety_claims_are_numbered_in_order():
    assert list(claims()) == list(range(1, 91))


def test_every_claim_is_complete():
    for claim in claims().values():
        assert claim.paper in ("2001", "2002", "2003", "2006", "2014")
        assert claim.section.startswith("§")
        assert claim.statement.endswith(".")
        assert claim.value
        assert claim.method


def test_claims_follow_the_order_of_the_papers():
    papers = [claim.paper for claim in claims().values()]
    assert papers == sorted(papers)


@pytest.mark.parametrize("verdict", [verdict for verdict in VERDICTS if verdict != "holds"])
def test_every_verdict_but_holds_needs_a_reason(verdict):
    Finding(1, "2, 3", verdict, "because")
    with pytest.raises(ValueError, match="needs a reason"):
        Finding(1, "2, 3", verdict)


def test_open_claims_name_what_was_missing():
    assert Finding(1, "-", "open", "did not run", "run").label == "not run"
    assert Finding(1, "-", "open", "no graph", "topology").label == "not run: needs --topology"
    assert Finding(1, "3", "holds").label == "holds"
    with pytest.raises(ValueError, match="only an open claim"):
        Finding(1, "3", "fails", "too many", "run")


def test_rule_makes_findings_that_show_it():
    rule = ClaimRule(5, "at most 400 ms with 8,192,000 filters")
    assert rule.decide("300 ms", True, "too slow") == Finding(5, "300 ms", "holds", rule=rule.text)
    assert rule.decide("500 ms", False, "too slow") == Finding(5, "500 ms", "fails", "too slow", rule=rule.text)
    found = rule.unmeasured("30 ms", "measured up to 512,000 filters")
    assert found.label == "not measured at the paper's size"
    assert {rule.differs("1", "a").rule, rule.open("1", "a", "traces").rule, found.rule} == {rule.text}
