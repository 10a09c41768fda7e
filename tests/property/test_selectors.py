"""SQL selectors against an oracle that evaluates them in three-valued logic, and against arbitrary text.

The oracle is built with each selector: a function from the properties to True, False or None (unknown), written after
the specification. A property that is missing or null is NULL; a comparison of different types is false.
"""

import operator
import re
import time

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from support.printed_forms import check_forms

from cbnet import Table, parse
from cbnet.errors import InputError

NAMES = ["a", "b", "$c", "d_1"]
COMPARISONS = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
NO_NUMBER = object()  # the result of arithmetic with a string or a bool

values = st.sampled_from([None, True, False, 0, 1, 2, -1, 0.5, 1.5, "", "a", "b", "ab", "a%", "abb"])
properties = st.dictionaries(st.sampled_from(NAMES), values)


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def compare(op, left, right):
    if left is None or right is None:
        return None
    if NO_NUMBER in (left, right) or is_number(left) != is_number(right):
        return False
    if not is_number(left) and (type(left) is not type(right) or op not in ("=", "<>")):
        return False
    return COMPARISONS[op](left, right)


def calculate(op, left, right):
    if left is None or right is None:
        return None
    if not is_number(left) or not is_number(right) or (op == "/" and right == 0):
        return NO_NUMBER
    return ARITHMETIC[op](left, right)


def negate(value):
    return None if value is None else not value


def both(left, right):
    return False if False in (left, right) else None if None in (left, right) else True


def either(left, right):
    return negate(both(negate(left), negate(right)))


def likeness(text, pattern):
    expression = "".join({"%": ".*", "_": "."}.get(char, re.escape(char)) for char in pattern)
    return None if text is None else isinstance(text, str) and bool(re.fullmatch(expression, text, re.DOTALL))


names = st.sampled_from(NAMES).map(lambda name: (name, lambda row: row.get(name)))
numbers = st.sampled_from(["0", "1", "2", "-1", "0.5", "1.5"]).map(lambda text: (text, lambda _: float(text)))
strings = st.sampled_from(["", "a", "ab", "a%"]).map(lambda text: (f"'{text}'", lambda _: text))
bools = st.booleans().map(lambda value: (str(value).upper(), lambda _: value))


def sums(operands):
    return st.builds(
        lambda op, left, right: (f"({left[0]} {op} {right[0]})", lambda row: calculate(op, left[1](row), right[1](row))),
        st.sampled_from(list(ARITHMETIC)), operands, operands,
    )  # fmt: skip


operands = st.recursive(names | numbers, sums, max_leaves=3)


def comparisons_by(ops, rights, lefts=None):
    return st.builds(
        lambda op, left, right: (f"{left[0]} {op} {right[0]}", lambda row: compare(op, left[1](row), right[1](row))),
        st.sampled_from(ops), operands if lefts is None else lefts, rights,
    )  # fmt: skip


def ranges_by(word, joined, above, below):
    return st.builds(
        lambda x, low, high: (
            f"{x[0]} {word} {low[0]} AND {high[0]}",
            lambda row: joined(compare(above, x[1](row), low[1](row)), compare(below, x[1](row), high[1](row))),
        ),
        operands, operands, operands,
    )  # fmt: skip


comparisons = comparisons_by(list(COMPARISONS), operands)
equalities = comparisons_by(["=", "<>"], operands | strings) | comparisons_by(["=", "<>"], bools, names)
ranges = ranges_by("BETWEEN", both, ">=", "<=")
outsides = ranges_by("NOT BETWEEN", either, "<", ">")
patterns = st.builds(
    lambda x, pattern: (f"{x[0]} LIKE '{pattern}'", lambda row: likeness(x[1](row), pattern)),
    names, st.text("ab%_", max_size=4),
)  # fmt: skip
members = st.builds(
    lambda x, texts: (
        f"{x[0]} IN ({', '.join(map(repr, texts))})",
        lambda row: None if x[1](row) is None else x[1](row) in texts,
    ),
    names, st.lists(st.sampled_from(["a", "ab", "c"]), min_size=1, max_size=3),
)  # fmt: skip
nulls = names.map(lambda x: (f"{x[0]} IS NULL", lambda row: x[1](row) is None))
flags = names.map(lambda x: (x[0], lambda row: compare("=", x[1](row), True)))
conditions = comparisons | equalities | ranges | outsides | patterns | members | nulls | flags | bools


def joined(parts):
    negations = parts.map(lambda part: (f"NOT ({part[0]})", lambda row: negate(part[1](row))))
    conjunctions = st.tuples(parts, parts).map(
        lambda pair: (f"({pair[0][0]}) AND ({pair[1][0]})", lambda row: both(pair[0][1](row), pair[1][1](row)))
    )
    disjunctions = st.tuples(parts, parts).map(
        lambda pair: (f"({pair[0][0]}) OR ({pair[1][0]})", lambda row: either(pair[0][1](row), pair[1][1](row)))
    )
    return negations | conjunctions | disjunctions


@given(st.recursive(conditions, joined, max_leaves=5), st.lists(properties, min_size=1, max_size=5))
def test_selectors_select_what_the_specification_says(selector, rows):
    text, oracle = selector
    try:
        predicate = parse(text, dialect="selector")
    except InputError as error:
        assert "has no value" in error.problem  # a constant divided by 0
        assume(False)
    expected = [oracle(row) is True for row in rows]
    assert [predicate.matches(row) for row in rows] == expected
    assert [bool(found) for found in Table.build({"rule": predicate}).match_many(rows)] == expected
    check_forms(predicate)


FRAGMENTS = [
    "a", "b.c", "$", "é", "5", "-", "+", "*", "/", "2.0", ".5", "0x1F", "1e400", "'a'", "'%_'", "''", "'", '"', "(", ")",
    ",", "=", "<>", "<", ">=", "==", "AND", "OR", "NOT", "IN", "LIKE", "ESCAPE", "BETWEEN", "IS", "NULL", "TRUE", "false",
    "\n", "\u00a0", "\ud800", "9223372036854775808",
]  # fmt: skip


@given(st.text() | st.lists(st.sampled_from(FRAGMENTS), max_size=25).map(" ".join))
@example("a BETWEEN 1 AND")
@example("NOT")
def test_any_text_is_a_predicate_or_an_input_error(text):
    try:
        predicate = parse(text, dialect="selector")
    except InputError as error:
        assert str(error)
    else:
        check_forms(predicate)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "NOT " * 100_000 + "a",
        "-" * 100_000 + "1 = a",
        "a" + " + 1" * 100_000 + " > 0",
        "a = (" * 50_000,
        "a BETWEEN " * 50_000,
        "'" * 300_001,
        "0x" + "f" * 300_000,
        "9" * 300_000,
        "1" + "_" * 300_000,
        "s LIKE '" + "%a" * 100_000 + "'",
        " AND ".join(["(a = 1 OR b = 2)"] * 10_000),
        "NOT (" + " OR ".join(["a IN ('x', 'y') AND b = 1"] * 5_000) + ")",
    ],
)
def test_hostile_text_is_refused_in_bounded_time(text):
    began = time.process_time()
    with pytest.raises(InputError):
        parse(text, dialect="selector")
    assert time.process_time() - began < 5
