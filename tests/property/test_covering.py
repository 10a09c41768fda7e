"""The covering relation against brute force: sound always, complete where it says so."""

import random
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import constraints, filters, messages_near, predicates

from cbnet.language import (
    Constraint,
    Filter,
    Message,
    Op,
    Predicate,
    counterexample,
    covers,
    parse_filter,
    satisfiable,
    search_counterexample,
    witness,
)
from cbnet.language.relations.number_range import predecessor, successor


@given(predicates())
def test_covering_is_reflexive(predicate):
    assert covers(predicate, predicate)


@given(filters(max_size=2), filters(max_size=3), filters(max_size=4))
def test_covering_is_transitive(wide, middle, narrow):
    # Conjunctions are covered by their parts, so the premises often hold.
    middle, narrow = wide & middle, wide & middle & narrow
    assert covers(wide, middle)
    assert covers(middle, narrow)
    assert covers(wide, narrow)


@given(filters(), filters(), st.data())
def test_a_yes_loses_no_message(wide, narrow, data):
    message = data.draw(messages_near(wide, narrow))
    if covers(wide, narrow) and narrow.matches(message):
        assert wide.matches(message)


@given(predicates(), predicates(), st.data())
def test_a_yes_between_predicates_loses_no_message(wide, narrow, data):
    message = data.draw(messages_near(*wide.filters, *narrow.filters))
    if covers(wide, narrow) and narrow.matches(message):
        assert wide.matches(message)


@given(predicates(), predicates())
def test_a_counterexample_is_one(wide, narrow):
    message = counterexample(wide, narrow)
    if message is not None:
        assert narrow.matches(message)
        assert not wide.matches(message)
        assert not covers(wide, narrow)


@given(filters(), filters())
def test_a_no_between_filters_has_a_counterexample(wide, narrow):
    if not covers(wide, narrow):
        assert counterexample(wide, narrow) is not None


@given(constraints(), constraints())
def test_one_constraint_against_one_is_complete(wide, narrow):
    assert covers(wide, narrow) == (counterexample(wide, narrow) is None)


@given(filters(), filters(), st.data())
def test_a_conjunction_agrees_with_a_witness(left, right, data):
    both = witness(left & right)
    assert satisfiable(left & right) == (both is not None)
    if both is None:
        message = data.draw(messages_near(left, right))
        assert not (left.matches(message) and right.matches(message))
    else:
        assert left.matches(both)
        assert right.matches(both)


@given(filters(), st.data())
def test_a_filter_that_is_not_satisfiable_matches_nothing(filter, data):
    if not satisfiable(filter):
        assert not filter.matches(data.draw(messages_near(filter)))
        assert covers("false", filter)


# --- exhaustive over small domains -----------------------------------------------------------

_NUMBER_OPS = [Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE]
_ORDERED_STRING_OPS = [*_NUMBER_OPS, Op.PREFIX]
_STRING_OPS = [*_ORDERED_STRING_OPS, Op.SUFFIX, Op.SUBSTRING]


def _single(ops, constants):
    return [Constraint("x", op, constant) for op, constant in product(ops, constants)] + [Constraint("x", Op.EXISTS)]


def _domain(constants):
    """Return values at and around each constant, and some of other types."""
    numbers = [n for c in constants if type(c) is not str for n in (predecessor(c), c, c + 0.5, successor(c))]
    strings = ["".join(chars) for length in range(4) for chars in product("ab", repeat=length)]
    strings += [s + extra for s in strings for extra in ("\0", "\0\0", "z", "\U0010ffff")]
    return [*numbers, *strings, True, False]


def _check_all(pairs, values):
    """Check both answers of every pair by brute force; return how many were "no", and how many proved."""
    messages = [Message({}), *(Message({"x": value}) for value in values)]
    accepted = {}

    def matches(filter):
        if filter not in accepted:
            accepted[filter] = frozenset(i for i, message in enumerate(messages) if filter.matches(message))
        return accepted[filter]

    refused = proved = 0
    for wide, narrow in pairs:
        if covers(wide, narrow):
            assert matches(narrow) <= matches(wide), f"{wide} does not cover {narrow}"
        else:
            refused += 1
            message = counterexample(wide, narrow)
            proved += message is not None and narrow.matches(message) and not wide.matches(message)
    return refused, proved


def _conjunctions(single, length):
    return [Filter(chosen) for chosen in combinations_with_replacement(single, length)]


_NUMBERS = _single(_NUMBER_OPS, [0, 1, 2])
_ORDERED_STRINGS = _single(_ORDERED_STRING_OPS, ["", "a", "ab", "b"])
_BOOLS = _single([Op.EQ, Op.NE], [True, False])
_ALL_STRINGS = _single(_STRING_OPS, ["", "a", "b", "ab", "ba", "aa"])
_MIXED = _single(_NUMBER_OPS, [1]) + _single(_STRING_OPS, ["a"]) + _single([Op.EQ, Op.NE], [True])


_FEW_NUMBERS = _single(_NUMBER_OPS, [0, 1])
_FEW_ORDERED = _single(_ORDERED_STRING_OPS, ["", "a"])
_FEW_STRINGS = _single(_STRING_OPS, ["a", "ab"])


@pytest.mark.parametrize(
    ("name", "single", "wide_length", "narrow_length"),
    [
        ("numbers, 1 or 2 against 1 or 2", _FEW_NUMBERS, 2, 2),
        ("bools, 1 or 2 against 1 or 2", _BOOLS, 2, 2),
        ("ordered strings, 1 or 2 against 1 or 2", _FEW_ORDERED, 2, 2),
        ("types mixed, 1 against 1 or 2", _MIXED, 1, 2),
        ("all string operators, 1 against 1", _ALL_STRINGS, 1, 1),
        ("all string operators, 1 or 2 against 1 or 2", _FEW_STRINGS, 2, 2),
    ],
)
def test_all_pairs_of_small_domains_agree_with_brute_force(name, single, wide_length, narrow_length, capsys):
    pairs = list(product(_conjunctions(single, wide_length), _conjunctions(single, narrow_length)))
    _check_and_print(f"{name}, all", pairs, capsys)


@pytest.mark.parametrize(
    ("name", "single", "wide_length", "narrow_length", "sample"),
    [
        ("numbers, 1 or 2 against 1 to 3", _NUMBERS, 2, 3, 8_000),
        ("ordered strings, 1 or 2 against 1 to 3", _ORDERED_STRINGS, 2, 3, 8_000),
        ("all string operators, 1 or 2 against 1 or 2", _ALL_STRINGS, 2, 2, 5_000),
        ("all string operators, 1 against 1 to 3", _ALL_STRINGS, 1, 3, 5_000),
    ],
)
def test_a_sample_of_larger_domains_agrees_with_brute_force(name, single, wide_length, narrow_length, sample, capsys):
    wides, narrows = _conjunctions(single, wide_length), _conjunctions(single, narrow_length)
    source = random.Random(1)
    pairs = [(source.choice(wides), source.choice(narrows)) for _ in range(sample)]
    _check_and_print(f"{name}, a sample", pairs, capsys)


def test_many_and_long_patterns_agree_with_brute_force(capsys):
    # Joint states of automata would be beyond any search here: 20 constants of up to 300 characters.
    source = random.Random(2)
    texts = ["".join(source.choices("ab", k=source.choice([1, 2, 3, 9, 300]))) for _ in range(40)]

    def conjunction(length):
        ops = source.choices([Op.SUBSTRING, Op.PREFIX, Op.SUFFIX, Op.NE, Op.GE], [12, 1, 1, 2, 1], k=length)
        return Filter(Constraint("x", op, source.choice(texts)) for op in ops)

    pairs = [(conjunction(source.choice([1, 2])), conjunction(20)) for _ in range(600)]
    pairs += [(narrow, narrow & wide) for wide, narrow in pairs[:200]]
    shuffled = ["".join(source.sample(texts, len(texts))) for _ in range(100)]  # they contain all the texts
    assert sum(narrow.matches({"x": value}) for _, narrow in pairs for value in shuffled) > 5_000
    refused = _check_and_print("many and long patterns", pairs, capsys, shuffled)
    assert 0 < refused < len(pairs)


def _check_and_print(name, pairs, capsys, values=()):
    refused, proved = _check_all(pairs, [*_domain([0, 1, 2]), *values])
    with capsys.disabled():
        print(f"\ncovering, {name}: {len(pairs):,} pairs, {refused:,} answered no, {proved / refused:.2%} proved")
    assert proved == refused
    return refused


@pytest.mark.parametrize("single", [_NUMBERS, _MIXED, _conjunctions(_NUMBERS, 2)[::3], _ALL_STRINGS])
def test_covering_is_transitive_over_all_triples(single):
    below = {wide: {narrow for narrow in single if covers(wide, narrow)} for wide in single}
    for wide in single:
        for middle in below[wide]:
            assert below[middle] <= below[wide]


def test_constraints_on_one_attribute_are_taken_together():
    assert covers("x = 6", "x >= 6 and x <= 6")
    assert not covers("x = 6", "x > 5 and x < 7")
    assert not satisfiable(parse_filter("x < 3 and x > 5"))


def test_many_long_patterns_are_decided():
    # Substrings with different periods: a search over their joint states would not end.
    narrow = Filter([Constraint("x", Op.SUBSTRING, "a" * n + "b" + "a" * n) for n in range(40, 60)])
    assert not covers(Constraint("x", Op.SUBSTRING, "c"), narrow)
    assert covers(Constraint("x", Op.SUBSTRING, "a" * 59), narrow)
    assert covers(narrow, narrow)
    assert narrow.matches(witness(narrow))
    assert not satisfiable(narrow & parse_filter('x $= "p" and x $= "q"'))


@pytest.mark.parametrize("op", ["*=", "$=", "^=", "=", "!=", "<", ">="])
def test_one_against_one_is_decided_for_long_constants(op):
    long = "abc" * 1_000
    constraint = Constraint("x", op, long)
    assert covers(constraint, constraint)
    assert covers('x $= "c"', Constraint("x", "=", long))
    assert not satisfiable(Filter([Constraint("x", "=", long), Constraint("x", "$=", "!")]))


@pytest.mark.parametrize("filters", [2_000, 10_000])
def test_wide_filters_with_one_constraint_are_excluded_at_once(filters):
    wide = Predicate(Filter([Constraint("x", Op.EQ, n)]) for n in range(filters))
    assert counterexample(wide, "x >= 0 and x < 100000") == Message({"x": filters})


def test_a_search_says_whether_it_came_to_its_end():
    assert search_counterexample("x < 5 or x >= 5", "x != 9") == (None, True)
    assert search_counterexample("x = 1", "exists x").message is not None
    # Each filter leaves two ways to violate it: together they are covered, which 3 values do not show.
    wide = " or ".join(f"x {a} 0 and y {b} 0" for a in ("<", ">=") for b in ("<", ">="))
    assert search_counterexample(wide, "x != 9 and y != 9") == (None, True)
    assert search_counterexample(wide, "x != 9 and y != 9", budget=3) == (None, False)
    assert counterexample(wide, "x != 9 and y != 9") is None
