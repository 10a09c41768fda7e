import pytest

from cbnet.lab.experiments.claim import VERDICTS, Finding, claims


def test_there_are_ninety_claims():
    assert list(claims()) == list(range(1, 91))


def test_every_claim_is_told_in_full():
    for claim in claims().values():
        assert claim.paper in ("2001", "2002", "2003", "2006", "2014")
        assert claim.section.startswith("§")
        assert claim.says.endswith(".")
        assert claim.value
        assert claim.how


def test_claims_stand_in_the_order_of_the_papers():
    papers = [claim.paper for claim in claims().values()]
    assert papers == sorted(papers)


@pytest.mark.parametrize("verdict", [verdict for verdict in VERDICTS if verdict != "holds"])
def test_what_does_not_simply_hold_needs_a_reason(verdict):
    Finding(1, "2, 3", verdict, "because")
    with pytest.raises(ValueError, match="needs a reason"):
        Finding(1, "2, 3", verdict)
