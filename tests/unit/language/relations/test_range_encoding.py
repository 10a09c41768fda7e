import pytest

from cbnet.language import Constraint
from cbnet.language.relations.range_encoding import EXISTS, Shapes

NUL = "\0"


@pytest.mark.parametrize(
    ("narrow", "wide", "expected"),
    [
        ([("<", 3)], ("<", 4), True),
        ([(">", 3)], (">=", 3), True),
        ([(">=", 3)], (">", 3), False),
        ([(">=", 6), ("<=", 6)], ("=", 6), True),
        ([(">=", 6), ("!=", 6)], (">", 6), True),  # the next number above 6 is the first
        ([("!=", 6), ("!=", 7)], ("!=", 7), True),
        ([("=", 1)], ("=", True), False),
        ([("!=", True)], ("=", False), True),
        ([("=", 1)], ("!=", "a"), False),  # of another type
        ([("^=", "ab")], ("<", "ac"), True),
        ([("^=", "ab")], ("*=", "b"), True),
        ([("$=", "ab")], ("<", "zz"), False),  # there are strings above that end with ab
        ([("$=", "ab"), ("*=", "cd")], ("*=", "d"), True),
        ([("=", "market")], ("$=", "ket"), True),
        ([("<", "")], ("=", 5), True),  # no string is below "": whatever is asked of none holds
        # All strings from "ab" up to "b" begin with "a", though the ends have no start in common.
        ([(">=", "ab"), ("<", "b")], ("*=", "a"), True),
        ([(">=", "ab"), ("<", "b")], ("*=", "b"), False),  # not "ac"
        # Between "a" and "a" NUL there is nothing else.
        ([(">=", "a"), ("<=", "a" + NUL), ("$=", NUL)], ("$=", "a" + NUL), True),
        ([("<=", "a" + NUL), ("$=", "a")], ("<=", "a"), True),
        ([(">", "a"), ("!=", "a" + NUL)], (">", "a" + NUL), True),
    ],
)
def test_a_shape_contains_another_if_all_its_values_do(narrow, wide, expected):
    shapes = Shapes()
    had = [shapes.of(Constraint("x", *said)) for said in narrow]
    asked, together = shapes.of(Constraint("y", *wide)), shapes.together(had)
    assert shapes.contains(asked, together) is expected
    assert shapes.packed().contains(asked, together) in (expected, None)


def test_constraints_on_any_attribute_share_their_shape():
    shapes = Shapes()
    assert shapes.of(Constraint("x", "<", 5)) == shapes.of(Constraint("y", "<", 5.0))
    assert shapes.of(Constraint("x", "=", 1)) != shapes.of(Constraint("x", "=", True))
    assert shapes.of(Constraint("x", "exists")) == EXISTS


def test_any_value_is_inside_nothing_but_exists():
    shapes = Shapes()
    asked = [shapes.of(Constraint("x", op, "a")) for op in ("=", "!=", "^=", "*=")]
    packed = shapes.packed()
    assert packed.contains(EXISTS, EXISTS) is True
    assert [packed.contains(wide, EXISTS) for wide in asked] == [False] * 4
