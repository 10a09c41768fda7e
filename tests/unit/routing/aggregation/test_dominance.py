"""The index of dominating filters against a comparison of all pairs; the laws are in tests/property/test_aggregation.py."""

import random

import pytest

from cbnet.language import Constraint, Filter, Op, parse_filter
from cbnet.language.relations.covering import FilterAnalysis
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.routing.aggregation import dominance as module
from cbnet.routing.aggregation.dominance import DominanceIndex


def random_filter(rng):
    constraints = [Constraint(name, *_test(rng)) for name in rng.sample("abcdefgh", rng.randint(0, 3))]
    return Filter(constraints, [f"tag {rng.randrange(40)}" for _ in range(rng.choice((0, 0, 1, 2, 14)))])


def _test(rng):
    text = "".join(rng.choices("xyz", k=rng.randint(1, 12)))
    return rng.choice(
        [
            (Op.EQ, rng.randrange(5)), (rng.choice((Op.LT, Op.GE)), rng.randrange(50)), (Op.NE, rng.randrange(5)),
            (rng.choice((Op.EQ, Op.PREFIX, Op.SUFFIX, Op.SUBSTRING, Op.LT, Op.NE)), text), (Op.IN, (1, 3, text)),
            (Op.EXISTS,),
        ]
    )  # fmt: skip


def index_of(filters):
    index = DominanceIndex([filter_to_bytes(each) for each in filters])
    for row in range(len(filters)):
        index.add(row)
    return index


def check(index, filters, rows, sample):
    analyses = {row: FilterAnalysis(filters[row]) for row in rows}
    for row in sample:
        covering = {wide for wide in rows if wide != row and analyses[row].implies(filters[wide])}
        covered = {narrow for narrow in rows if narrow != row and analyses[narrow].implies(filters[row])}
        assert set(index.covering(row)) == covering
        assert covering - covered <= set(index.dominators(row)) <= covering
        assert covered - covering <= set(index.dominated(row)) <= covered


def test_many_filters_are_found_also_after_most_are_removed():
    rng = random.Random(5)
    filters = list(dict.fromkeys(random_filter(rng) for _ in range(4000)))
    index = index_of(filters)
    check(index, filters, range(len(filters)), rng.sample(range(len(filters)), 40))
    kept = set(rng.sample(range(len(filters)), 400))
    for row in set(range(len(filters))) - kept:
        index.discard(row)
    assert len(index) == 400
    check(index, filters, kept, sorted(kept)[::10])
    for row in range(len(filters)):
        if row not in index:
            index.add(row)
    check(index, filters, range(len(filters)), rng.sample(range(len(filters)), 20))


def test_all_of_many_wide_filters_are_found():
    filters = [parse_filter(f"x > {bound}") for bound in range(100)]
    index = index_of(filters)
    assert set(index.dominators(99)) == set(range(99))
    assert set(index.dominated(0)) == set(range(1, 100))


def test_a_filter_that_no_message_matches_is_left_out():
    index = index_of([parse_filter("x > 2 and x < 2"), parse_filter("x > 2")])
    assert 0 not in index
    assert list(index.dominated(1)) == []


@pytest.mark.parametrize(("limit", "found"), [(1, set()), (2, {0})])
def test_the_search_for_dominators_is_bounded(monkeypatch, limit, found):
    monkeypatch.setattr(module, "MAX_FAILED", limit)
    many = ", ".join(map(str, range(3, 300)))  # the kernel cannot tell that 2 is not among them; it is compared first
    index = index_of([parse_filter(f"x in ({members})") for members in ("1, 2, 3", "1, 2", f"1, {many}")])
    assert set(index.dominators(1)) == found
    assert set(index.dominated(0)) == {1}


def test_too_many_dominated_rows_are_found_in_slices():
    filters = [parse_filter(f"x > {bound}") for bound in range(100)]
    index = index_of(filters)
    assert index.dominated(0, 50) is None
    found, row = [], 0
    while row < 100:
        rows, row = index.dominated_among(0, row, row + 30, 20)
        found += [*rows]
    assert found == [*range(1, 100)]
