import pytest

from cbnet_lab.experiments.y2006.larger_networks import FITTED, fitted_finding, larger_network_rows


@pytest.fixture(scope="module")
def rows():
    return {row["claim"]: row for row in larger_network_rows("ring:6", 8, seed=1)}


def test_on_a_ring_of_six_counts_follow_by_hand(rows):
    assert list(rows) == list(FITTED)
    assert (rows[42]["true"], rows[42]["cases"]) == (72, 72)  # 6 sources and 12 directed links
    assert (rows[48]["true"], rows[48]["cases"]) == (36, 36)  # 6 sources and 6 routers
    assert (rows[50]["true"], rows[50]["cases"]) == (12, 12)  # both directions of 6 links
    assert rows[55]["true"] == rows[55]["cases"]
    # All 5 others are interested. PIF has a packet for each, none spurious.
    assert (rows[53]["true"], rows[53]["cases"]) == (0, 8 * 5)
    # Next hops to the node opposite are tied: it may be reached from both sides, but never more than once.
    assert rows[57]["cases"] == 8


def test_header_of_each_next_hop_is_shorter_than_a_common_one(rows):
    assert rows[55]["bytes"] < rows[55]["bytes_common"]


def counts(claim, **changed):
    row = {"claim": claim, "network": "n", "nodes": 9, "true": 10, "cases": 10, "bytes": 50, "bytes_common": 90}
    return row | changed


@pytest.mark.parametrize("claim", FITTED)
def test_agreement_on_a_network_built_to_fit_is_not_enough(claim):
    found = fitted_finding(claim, "5, 9, 10", True, [counts(claim)])
    assert found.verdict == "differs"
    assert "built to fit" in found.reason
    assert fitted_finding(claim, "5, 9", False, [counts(claim)]).verdict == "fails"


@pytest.mark.parametrize(
    ("claim", "changed"),
    [
        (42, {"true": 9}),  # a tree has other nodes behind a link
        (48, {"true": 9}),
        (50, {"true": 9}),  # at a link F* is not the union
        (53, {"true": 9, "cases": 1000}),  # 0.9 % of the packets are spurious
        (55, {"true": 9}),
        (55, {"bytes": 90}),  # nothing is saved
        (57, {"true": 0}),
    ],
)
def test_statement_that_is_not_true_on_a_larger_network_fails(claim, changed):
    found = fitted_finding(claim, "as in the paper", True, [counts(claim), counts(claim, network="m", **changed)])
    assert (found.verdict, found.reason) == ("fails", "the statement behind the example is not true on m")
