"""Filters in records: one form for each filter, and no other."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbnet import Constraint, Filter, Op, parse_filter
from cbnet.errors import InputError
from cbnet.language.condition import Comparison, Like, Membership, Outcome, Presence, TagTest
from cbnet.language.expression import Arithmetic, Attribute, Call, Constant
from cbnet.language.formula import NOT_FALSE, NOT_TRUE, AllOf, Is, predicate_of
from cbnet.language.predicate import MAX_FILTER_BYTES
from cbnet.language.syntax.byte_form import canonical_filter, filter_from_bytes, filter_to_bytes

TRUE, FALSE = Outcome.TRUE, Outcome.FALSE


def packed(*parts):
    return msgspec.msgpack.encode(parts)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("true", packed()),
        ("price < 500 and #upgradeable", packed(["price", 2, 500], "upgradeable")),
        ("b = 1 and a = 2", packed(["a", 0, 2], ["b", 0, 1])),
        ("#b and #a and exists x", packed(["x", 9], "a", "b")),
        ("x = 5.0", packed(["x", 0, 5])),
        ("x != true", packed(["x", 0, False])),
        ("x = 0.5", packed(["x", 0, 0.5])),
        ('s ^= "é"', packed(["s", 6, "é"])),
        ("x = null", packed(["x", 0, None])),
        ("x != null and exists y", packed(["x", 1, None], ["y", 9])),
        ('x in ("b", 2.0, null, true, 1, 2)', packed(["x", 10, [True, 1, 2, "b", None]])),
        ("x in (1)", packed(["x", 0, 1])),
        ("detail.state = 1", packed(["detail.state", 0, 1])),
        ("b < a and #t and b > 1", packed(["b", 4, 1], ["b < a"], "t")),  # `exists a` and `exists b` follow
        ('not (s ^= "x") and not (s $= "x")', packed(['not (s $= "x")'], ['not (s ^= "x")'])),
        ('s like "ab%cd%ef"', packed(['s like "ab%cd%ef"'])),  # s ^= "ab", s *= "cd" and s $= "ef" follow
        ("absent x", packed(["absent x"])),
        ("(x = 1) is not true", packed(["(x = 1) is not true"])),
    ],
)
def test_a_filter_is_written_in_one_form(text, written):
    filter = parse_filter(text)
    assert filter_to_bytes(filter) == written
    assert filter_from_bytes(written) == canonical_filter(filter)


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"\xc1",
        packed("b", "a"),  # not in order
        packed("a", "a"),
        packed("a", ["x", 0, 1]),
        packed(["y", 0, 1], ["x", 0, 1]),
        packed(["x", 0, 1], ["x", 0, 1]),
        packed(["x", 0, 5.0]),
        packed(["x", 1, True]),
        packed(["x", -1, 1]),
        packed(["x", True, 1]),
        packed(["x", "=", 1]),
        packed(["x", 0]),
        packed(["x", 9, 1]),
        packed(["x", 0, 1, 2]),
        packed(["x"]),
        packed([1, 0, 1]),
        packed(["#", 0, 1]),
        packed(["x", 2, True]),
        packed(["x", 6, 1]),
        packed(["x", 2, None]),  # null has no order
        packed(["x", 9, None]),
        packed(["x", 0, [1, 2]]),
        packed(["x", 10, []]),
        packed(["x", 10, [1]]),  # x = 1
        packed(["x", 10, [2, 1]]),
        packed(["x", 10, [1, 1]]),
        packed(["x", 10, [1, 2.0]]),
        packed(["x", 10, [1, [2]]]),
        packed(["x", 10, [1, {"a": 2}]]),
        packed(["x", 10, "ab"]),
        packed(["x", 10, None]),
        packed(["x", 11, 1]),
        packed([None]),
        packed([["a < b"]]),
        packed([]),
        packed([""]),
        packed(["a"]),
        packed(["a <"]),
        packed(["a  < b"]),  # not in its form
        packed(["(a < b)"]),
        packed(["b > a "]),
        packed(["not not (a < b)"]),
        packed(["x = 1"]),  # a constraint
        packed(["a < b and c < d"]),
        packed(["a < b or c < d"]),
        packed(["#t"]),
        packed(["true"]),
        packed(["a < b"], ["a < b"]),
        packed(["c < d"], ["a < b"]),
        packed(["a < b"], ["x", 0, 1]),  # conditions follow constraints
        packed("t", ["a < b"]),
        packed(["a", 9], ["a < b"]),  # implied
        packed(["s", 6, "ab"], ['s like "ab%cd%ef"']),  # implied
        packed(["a < b", "c < d"]),
        packed(["\ud7ff < " + "a" * 17_000]),
        packed([" + ".join("a" * 70) + " > 1"]),  # too deep
        packed(["lower(" * 50 + "a" + ")" * 50 + ' = "x"']),
        packed(["x", 0, float("nan")]),
        b"\x91\x93\xa1x\x00\xca\x3f\x00\x00\x00",  # 0.5 in 32 bits
        b"\xdc\x00\x00",  # an empty array with a length that is too long
        packed([1]),
        packed(1),
        packed() + b"\x00",
    ],
)
def test_anything_else_is_refused(written):
    with pytest.raises(InputError):
        filter_from_bytes(written)


SOME_TEXT = st.sampled_from(["", "a", "A%", "_b", "x.y", "in", "é", '"', "`", "\\", "\U0010ffff"])
CONSTANTS = st.none() | st.booleans() | st.sampled_from([0, -1, 2.5, 1e300, 2**63 - 1, -0.0]) | SOME_TEXT
NAMES = st.sampled_from(["a", "b", "a.b", "in", "x y", "lower"])


@st.composite
def expressions(draw, depth=2):
    if depth == 0 or draw(st.booleans()):
        return Attribute(draw(NAMES))
    if draw(st.booleans()):
        return Call(draw(st.sampled_from(["lower", "upper"])), draw(expressions(depth - 1)))
    right = draw(expressions(depth - 1) | st.builds(Constant, st.sampled_from([2, 0.5])))
    return Arithmetic(draw(st.sampled_from(["+", "-", "*", "/", "div", "mod"])), draw(expressions(depth - 1)), right)


TESTS = st.one_of(
    st.builds(Comparison, st.sampled_from(list(Op)[:9]), expressions(), expressions()),
    st.builds(Presence, NAMES),
    st.builds(TagTest, SOME_TEXT),
    st.builds(Like, expressions(), st.sampled_from(["a%b_c", "%a%b%", "_", "a\\%%b"])),
    st.builds(Membership, expressions(), st.just((1, 2, "a", None))),
)
SETS = st.builds(Constraint, NAMES, st.just(Op.IN), st.lists(CONSTANTS, min_size=1))
EQUALITIES = st.builds(Constraint, NAMES, st.sampled_from([Op.EQ, Op.NE]), CONSTANTS)


@given(
    st.lists(SETS | EQUALITIES, max_size=3),
    st.frozensets(SOME_TEXT, max_size=2),
    st.lists(st.tuples(TESTS, st.sampled_from([TRUE, FALSE, NOT_TRUE, NOT_FALSE])), max_size=3),
)
def test_every_filter_of_the_parser_comes_back_from_its_bytes(constraints, tags, tests):
    formulas = [test if accepted == TRUE else Is(test, accepted) for test, accepted in tests]
    for filter in predicate_of(AllOf(tuple(formulas))).filters if formulas else [Filter()]:
        filter = canonical_filter(filter & Filter(constraints, tags))
        assert filter_from_bytes(filter_to_bytes(filter)) == filter


def test_two_lists_of_a_thousand_values_are_one_filter():
    text = " and ".join(f"{name} in ({', '.join(repr(n) for n in range(1_000_000, 1_001_000))})" for name in "ab")
    encoded = filter_to_bytes(parse_filter(text))
    assert len(encoded) < MAX_FILTER_BYTES
    assert filter_from_bytes(encoded) == parse_filter(text)


def test_a_filter_of_short_floats_that_would_be_too_long_is_refused():
    shorts = [b"\x93\xa1x\x01\xca" + n.to_bytes(4) for n in range(0x3F000001, 0x3F000001 + 7_200)]
    written = b"\xdc" + len(shorts).to_bytes(2) + b"".join(shorts)
    assert len(written) <= MAX_FILTER_BYTES
    with pytest.raises(InputError):
        filter_from_bytes(written)


def test_filter_too_long_for_a_record_is_refused():
    with pytest.raises(InputError, match="at most 65,536 are allowed"):
        filter_to_bytes(Filter(tags=["x" * MAX_FILTER_BYTES]))
