"""The closed form of `StringRange` against a search over automata, on alphabets with the ends of the domain."""

import random
from itertools import combinations_with_replacement, product

import pytest
from support.automata import UNDECIDED, find

from cbnet.language import Constraint, Op
from cbnet.language.relations.string_range import StringRange

ENDS = ["\0", "\0\1", "ab", "\0a\U0010ffff", "\U0010fffe\U0010ffff", "\ud7ff\ue000"]  # \ud7ff is followed by \ue000


def _constraints(alphabet, longest):
    constants = ["".join(chars) for length in range(longest + 1) for chars in product(alphabet, repeat=length)]
    return [Constraint("s", op, constant) for op in Op if op not in (Op.EXISTS, Op.IN) for constant in constants]


def _check(wanted, unwanted):
    expected = find(wanted, unwanted)
    if expected is UNDECIDED:
        return
    actual = StringRange(wanted, unwanted).member
    assert (actual is None) == (expected is None), (wanted, unwanted, expected)
    if actual is not None:
        assert all(constraint.accepts(actual) for constraint in wanted)
        assert not any(constraint.accepts(actual) for constraint in unwanted)


@pytest.mark.parametrize("alphabet", ENDS)
def test_one_against_one_agrees_with_the_search_for_all_pairs(alphabet):
    single = _constraints(alphabet, 2)
    for wanted, unwanted in product(single, single):
        _check([wanted], [unwanted])


@pytest.mark.parametrize("alphabet", ["\0\1", "ab", "\U0010fffe\U0010ffff"])
def test_one_against_two_agrees_with_the_search_for_all_triples(alphabet):
    single = _constraints(alphabet, 1)
    for wanted in combinations_with_replacement(single, 2):
        narrow = StringRange(wanted)
        for unwanted in single:
            _check(wanted, [unwanted])
            if not narrow.is_empty:
                assert narrow.implies(unwanted) == StringRange(wanted, [unwanted]).is_empty


@pytest.mark.parametrize("alphabet", ENDS)
@pytest.mark.parametrize(("wanted", "unwanted"), [(4, 0), (3, 1), (2, 2), (3, 2), (1, 3)])
def test_a_sample_of_larger_questions_agrees_with_the_search(alphabet, wanted, unwanted):
    single, source = _constraints(alphabet, 3), random.Random(5)
    for _ in range(400):
        _check(source.choices(single, k=wanted), source.choices(single, k=unwanted))


@pytest.mark.parametrize("alphabet", ENDS)
def test_the_members_that_are_shown_are_members(alphabet):
    single, source = _constraints(alphabet, 3), random.Random(6)
    for _ in range(1_000):
        constraints = source.choices(single, k=source.randint(1, 3))
        strings = StringRange(constraints)
        for shown in () if strings.is_empty else (strings.first, strings.last, strings.member):
            assert all(constraint.accepts(shown) for constraint in constraints)


def test_members_are_short():
    for wanted, expected in [
        ([("^=", "ab"), ("$=", "ba")], "aba"),
        ([(">", "m")], "n"),
        ([("<", "b")], ""),
        ([("$=", "xy")], "xy"),
        ([("!=", "")], "a"),
        ([("*=", "bc"), ("*=", "ab")], "bcab"),
    ]:
        assert StringRange([Constraint("s", op, value) for op, value in wanted]).member == expected
