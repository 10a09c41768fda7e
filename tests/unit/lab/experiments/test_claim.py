import pytest

from cbnet.lab.experiments.claim import VERDICTS, Finding, claims


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
    assert Finding(1, "-", "open", "too small", "scale").label == "not decided at this scale"
    assert Finding(1, "-", "open", "no graph", "topology").label == "not run: needs --topology"
    assert Finding(1, "3", "holds").label == "holds"
    with pytest.raises(ValueError, match="only an open claim"):
        Finding(1, "3", "fails", "too many", "scale")
