import numpy as np
import pytest

from cbnet.topology import Ties
from cbnet.topology.survey.claims import claims
from cbnet.topology.survey.tree_statistics import Stretch, TreeStatistics
from cbnet.topology.survey.value_counts import ValueCounts


def findings(k, extra, worst, sets=(1, 2), most=2, used=10, load=100.0, ties=Ties.SMALLEST):
    """Return findings of two pairs, whose extra lengths are these, and of two selections."""
    totals, largest = (np.array(values) for values in (extra, worst))
    stretch = Stretch(ValueCounts.of(totals * k), ValueCounts.of(largest), totals.astype(float), largest.astype(float))
    counts = ValueCounts.of(np.array(sets))
    return TreeStatistics(
        ties, k, stretch, counts, np.array([most - 1, most]), np.array([used] * 2), np.array([1.0, 1.0]),
        np.array([load] * 2),
    )  # fmt: skip


def verdicts(found, in_hops=True):
    return {claim.statement: claim.agrees for claim in claims(found, in_hops=in_hops)}


ON_AVERAGE = "8 trees: 1 to 2 hops more on average"
ON_THE_WORST = "8 trees: about 2.5 to 5.5 hops more on the worst tree"


@pytest.mark.parametrize(
    ("extra", "worst", "agrees"),
    [((1, 2), (2, 4), (True, True)), ((0, 1), (1, 3), (False, False)), ((2, 3), (5, 6), (False, True))],
)
def test_averages_are_held_against_the_ranges_of_the_paper(extra, worst, agrees):
    # the averages are 1.5 and 3; 0.5 and 2; 2.5 and 5.5
    found = verdicts([findings(8, extra, worst)])
    assert (found[ON_AVERAGE], found[ON_THE_WORST]) == agrees


def test_what_was_found_is_said():
    found = {claim.statement: claim.result for claim in claims([findings(8, (1, 2), (2, 4))], in_hops=True)}
    assert found[ON_AVERAGE] == "1.50; pairs 1.00 to 2.00, sources 1.00 to 2.00"
    assert found[ON_THE_WORST] == "3.00; pairs 2.00 to 4.00, sources 2.00 to 4.00"
    assert (
        found["only a handful of distinct trees per interface"] == "at most 2 for 99 % of the interfaces, with 8 trees"
    )


def test_lengths_that_are_no_hops_are_not_compared():
    assert ON_AVERAGE not in verdicts([findings(8, (1, 2), (2, 4))], in_hops=False)


def test_only_what_was_measured_is_compared():
    found = verdicts([findings(16, (1, 2), (2, 4))])
    assert {*found} == {"only a handful of distinct trees per interface"}


def test_many_trees_are_compared_with_few_and_with_one():
    few, many = (
        findings(8, (1, 2), (2, 4)),
        findings(128, (2, 2), (5, 6), sets=[1] * 99 + [90], most=90, used=25, load=20.0),
    )
    one = findings(1, (1, 1), (1, 1))
    found = {claim.statement: claim for claim in claims([one, few, many], in_hops=True)}
    assert found["a few trees are enough: more change little on average"].result == "1.50 with 8 trees, 2.00 with 128"
    assert found["128 trees: at most 90 at an interface"].result == "89 to 90 in 2 selections"
    assert (
        found["only a handful of distinct trees per interface"].result
        == "at most 1 for 99 % of the interfaces, with 128 trees"
    )
    spread = found["several trees use more links than one, and spread the traffic"]
    assert spread.result == "128 trees use 2.5 times as many links; the largest load is 1/5.0"
    assert spread.agrees is True
    assert found["128 trees: at most 90 at an interface"].agrees is None


def test_traffic_that_is_not_spread_does_not_agree():
    found = verdicts([findings(1, (1, 1), (1, 1)), findings(8, (1, 1), (1, 1), used=20, load=100.0)])
    assert found["several trees use more links than one, and spread the traffic"] is False


def test_every_rule_of_ties_is_compared():
    found = [findings(8, (1, 2), (2, 4)), findings(8, (0, 0), (2, 4), ties=Ties.RANDOM)]
    assert [(claim.ties, claim.agrees) for claim in claims(found, in_hops=True) if claim.statement == ON_AVERAGE] == [
        (Ties.SMALLEST, True),
        (Ties.RANDOM, False),
    ]
