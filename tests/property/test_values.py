"""Equality, order and hash of the language's values, and the ordered domain of numbers."""

import copy
import math
import pickle
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from support.strategies import (
    any_messages,
    any_numbers,
    any_predicates,
    any_values,
    constraints,
    filters,
    messages_near,
)

from cbnet.language import Constraint, Message
from cbnet.language.relations.number_range import MAX_FLOAT, predecessor, successor
from cbnet.language.relations.string_range import StringRange
from cbnet.language.values import INT_MAX, INT_MIN, value_type


def same(left, right):
    """The meaning of equality, said with exact fractions."""
    if value_type(left) is not value_type(right):
        return False
    return Fraction(left) == Fraction(right) if not isinstance(left, (str, bool)) else left == right


@given(any_values, any_values)
@example(True, 1)
@example(False, 0.0)
@example(1, 1.0)
@example(-0.0, 0)
@example(2**53 + 1, float(2**53))
@example("1", 1)
def test_values_are_the_same_in_messages_constraints_and_sets_when_they_are_equal_in_the_language(left, right):
    expected = same(left, right)
    assert (Message({"x": left}) == Message({"x": right})) == expected
    assert (Constraint("x", "=", left) == Constraint("x", "=", right)) == expected
    assert len({Message({"x": left}), Message({"x": right})}) == (1 if expected else 2)
    assert Constraint("x", "=", left).accepts(right) == expected
    assert Constraint("x", "!=", left).accepts(right) == (value_type(left) is value_type(right) and not expected)


@given(any_messages | any_predicates | constraints() | filters())
def test_copies_and_pickles_are_equal(value):
    assert copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(value)) == value
    assert hash(pickle.loads(pickle.dumps(value))) == hash(value)


@given(st.lists(filters(), max_size=6))
def test_order_is_total_and_agrees_with_equality(values):
    ordered = sorted(values)
    for left, right in pairwise(ordered):
        assert left <= right
        assert (left == right) == (not left < right)
        assert (left == right) == (hash(left) == hash(right))


@given(any_numbers)
@example(2**53)
@example(2**53 + 1)
@example(-(2**53) - 1)
@example(INT_MAX)
@example(INT_MIN)
@example(2.0**63)
@example(0)
@example(-5e-324)
def test_no_number_lies_between_a_number_and_its_successor(number):
    assume(number != MAX_FLOAT)
    above = successor(number)
    assert above > number
    middle = (Fraction(number) + Fraction(above)) / 2
    for candidate in (float(middle), math.floor(middle), math.ceil(middle)):
        in_domain = isinstance(candidate, float) or INT_MIN <= candidate <= INT_MAX
        assert not (in_domain and number < candidate < above)
    assert predecessor(above) == number


def test_the_domain_of_numbers_ends_at_the_largest_floats():
    assert successor(MAX_FLOAT) is None
    assert predecessor(-MAX_FLOAT) is None


@given(st.lists(constraints(values=st.text("ab", max_size=3)), min_size=1, max_size=3), st.data())
def test_no_string_near_the_constants_is_missed(chosen, data):
    wanted = [constraint for constraint in chosen if constraint.value is not None]
    unwanted = [wanted.pop()] if len(wanted) > 1 else []
    found = StringRange(wanted, unwanted).member
    if found is not None:
        assert all(constraint.accepts(found) for constraint in wanted)
        assert not any(constraint.accepts(found) for constraint in unwanted)
    else:
        for message in [data.draw(messages_near(*filters_of(wanted, unwanted)))]:
            for value in message.attributes.values():
                if isinstance(value, str):
                    assert not (
                        all(constraint.accepts(value) for constraint in wanted)
                        and not any(constraint.accepts(value) for constraint in unwanted)
                    )


def filters_of(*groups):
    from cbnet.language import Filter

    return [Filter(group) for group in groups]


@pytest.mark.parametrize("value", [Message({"x": 1}), Constraint("x", "=", 1)])
def test_values_are_immutable(value):
    with pytest.raises(AttributeError, match="is immutable"):
        value.name = "y"
    with pytest.raises(AttributeError, match="is immutable"):
        del value.tags
