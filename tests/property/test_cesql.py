"""CloudEvents SQL against an interpreter written after the specification, and against arbitrary text.

The interpreter raises `EventError` where the specification has an error; an event with an error does not pass.
"""

import contextlib
import json
import operator
import re
import time

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from support.printed_forms import check_forms

from cbnet import Table, parse
from cbnet.errors import InputError, LimitError

COMPARISONS = {
    "=": operator.eq, "!=": operator.ne, "<>": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
FUNCTIONS = {"LOWER": (str, str.lower), "UPPER": (str, str.upper), "LENGTH": (str, len), "ABS": (int, abs)}


class EventError(Exception):
    """An error of the evaluation."""


def cast(value, target):
    if isinstance(value, target) and (target is not int or not isinstance(value, bool)):
        return value
    if target is str:
        return str(value).lower() if isinstance(value, bool) else str(value)
    if not isinstance(value, str):
        return target(value)
    if target is int and re.fullmatch("[+-]?[0-9]+", value):
        return int(value)
    if target is bool and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise EventError


def calculate(op, left, right):
    if op not in "/%":
        return {"+": left + right, "-": left - right, "*": left * right}[op]
    if right == 0:
        raise EventError
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if op == "/" else left - right * quotient


def evaluate(node, event):
    """Return the value of a tree: (operator, operands …)."""
    op, *operands = node
    if op == "literal":
        return operands[0]
    if op == "EXISTS":
        return operands[0] in event
    if op == "name":
        if operands[0] not in event:
            raise EventError
        return event[operands[0]]
    left = evaluate(operands[0], event)
    if op in ("AND", "OR"):
        return cast(left, bool) if cast(left, bool) == (op == "OR") else cast(evaluate(operands[1], event), bool)
    if op == "NOT":
        return not cast(left, bool)
    if op in ("LIKE", "NOT LIKE"):
        pattern = re.sub("%|_", lambda found: {"%": ".*", "_": "."}[found[0]], operands[1])
        return bool(re.fullmatch(pattern, cast(left, str))) == (op == "LIKE")
    if op in FUNCTIONS:
        return FUNCTIONS[op][1](cast(left, FUNCTIONS[op][0]))
    if op == "minus":
        return -cast(left, int)
    rights = [evaluate(operand, event) for operand in operands[1:]]
    if op in ("IN", "NOT IN"):
        return (left in [cast(right, type(left)) for right in rights]) == (op == "IN")
    (right,) = rights
    if op == "XOR":
        return cast(left, bool) != cast(right, bool)
    if op in COMPARISONS:
        target = type(right) if op in ("=", "!=", "<>") else int
        return COMPARISONS[op](cast(left, target), cast(right, target))
    return calculate(op, cast(left, int), cast(right, int))


def passes(node, event):
    try:
        return evaluate(node, event) is True
    except EventError:
        return False


def text_of(node):
    op, *operands = node
    if op == "literal":
        return f"'{operands[0]}'" if isinstance(operands[0], str) else str(operands[0])
    if op == "name":
        return operands[0]
    if op == "EXISTS":
        return f"(EXISTS {operands[0]})"
    if op.endswith("LIKE"):
        return f"({text_of(operands[0])} {op} '{operands[1]}')"
    texts = list(map(text_of, operands))
    if op.endswith("IN"):
        return f"({texts[0]} {op} ({', '.join(texts[1:])}))"
    if op in FUNCTIONS:
        return f"{op}({texts[0]})"
    if op in ("NOT", "minus"):
        return f"({'NOT' if op == 'NOT' else '-'} {texts[0]})"
    return f"({texts[0]} {op} {texts[1]})"


values = st.sampled_from(
    [True, False, 0, 1, 2, -1, 12, "", "1", "+1", "01", "-2", "true", "TRUE", "False", "a", "ab", "12"]
)
events = st.fixed_dictionaries(
    {"type": st.sampled_from(["a", "ab", "1", "true"])},
    optional={"a": values, "b": values, "subject": st.sampled_from(["a", "b", "2", "TRUE"])},
)
names = st.sampled_from(["a", "b", "a", "type", "subject"])
leaves = st.tuples(st.just("literal"), values) | st.tuples(st.just("name"), names) | st.tuples(st.just("EXISTS"), names)


def nodes(inner):
    binary = st.sampled_from(["AND", "OR", "XOR", *COMPARISONS, "+", "-", "*", "/", "%"])
    return (
        st.tuples(binary, inner, inner)
        | st.tuples(st.sampled_from(["AND", "OR", *COMPARISONS]), inner, inner)
        | st.tuples(st.sampled_from(["NOT", "minus", *FUNCTIONS]), inner)
        | st.tuples(st.sampled_from(["LIKE", "NOT LIKE"]), inner, st.text("a1t%_", max_size=3))
        | st.tuples(st.sampled_from(["IN", "NOT IN"]), inner, inner)
        | st.tuples(st.sampled_from(["IN", "NOT IN"]), inner, inner, inner)
    )


@given(st.recursive(leaves, nodes, max_leaves=6), st.lists(events, min_size=1, max_size=6))
@example(("IN", ("name", "a"), ("literal", 1), ("name", "b")), [{"type": "a", "a": 1, "b": "x"}])
@example(("=", ("literal", 1), ("name", "a")), [{"type": "a", "a": "1"}, {"type": "a", "a": True}])
def test_expressions_mean_what_the_specification_says(tree, rows):
    try:
        predicate = parse(text_of(tree), dialect="cesql")
    except LimitError:
        assume(False)
    expected = [passes(tree, row) for row in rows]
    assert [predicate.matches(row) for row in rows] == expected
    assert [bool(found) for found in Table.build({"rule": predicate}).match_many(rows)] == expected
    check_forms(predicate)


@given(st.recursive(leaves, nodes, max_leaves=4), st.lists(events, min_size=1, max_size=4))
def test_a_subscription_filter_is_false_where_its_expression_has_an_error(tree, rows):
    try:
        predicate = parse({"not": {"sql": text_of(tree)}}, dialect="cloudevents")
    except LimitError:
        assume(False)
    assert [predicate.matches(row) for row in rows] == [not passes(tree, row) for row in rows]


KEYS = ["exact", "prefix", "suffix", "all", "any", "not", "sql", "type", "a", "", "data", "#", "A"]
FRAGMENTS = [
    "a", "type", "3d", "A_b", "5", "-", "+", "*", "/", "%", "'a'", "'%_'", "''", "'", '"', '"b\\""', "\\", "(", ")", ",", "=",
    "!=", "<>", "<", ">=", "==", "AND", "OR", "xor", "NOT", "IN", "LIKE", "EXISTS", "TRUE", "false", "LENGTH", "CONCAT", "int(",
    "BOOL(", "\n", "\u00a0", "\ud800", "2147483648", "data", ".",
]  # fmt: skip


@given(st.text() | st.lists(st.sampled_from(FRAGMENTS), max_size=25).map(" ".join))
@example("EXISTS")
@example("a NOT")
@example("+")
@example("-")
def test_any_text_is_a_predicate_or_an_input_error(text):
    try:
        predicate = parse(text, dialect="cesql")
    except InputError as error:
        assert error.problem
    else:
        check_forms(predicate)


scalars = st.none() | st.booleans() | st.integers() | st.sampled_from(["", "a", "type = 'x'", "a >", "\ud800"])
filters = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, min_size=1, max_size=2),
    max_leaves=8,
)


@given(filters, st.booleans())
def test_any_json_is_a_subscription_filter_or_an_input_error(rule, as_text):
    try:
        predicate = parse(json.dumps(rule) if as_text else rule, dialect="cloudevents")
    except InputError as error:
        assert error.problem
    else:
        check_forms(predicate)


@pytest.mark.parametrize(
    "text",
    [
        " OR ".join(f"a{number} = 'x'" for number in range(7_000)),
        " AND ".join(f"NOT (a{number} = 'x')" for number in range(2_000)),
        "NOT (" + " AND ".join(f"a{number} = 'x'" for number in range(2_000)) + ")",
        " XOR ".join(f"a{number}" for number in range(300)),
        " OR ".join("a = 'x' AND b = 'y'" for _ in range(200)),
        " = ".join("a" for _ in range(90)),
        " + ".join(f"(a = {number})" for number in range(50)) + " = 3",
        "a IN (" + ", ".join(f"b{number}" for number in range(5_000)) + ")",
        "a IN (" + ", ".join(str(number) for number in range(20_000)) + ")",
        "(" * 100_000,
        "NOT " * 100_000 + "a",
        "'" + "\\'" * 200_000,
        "f(" * 100_000,
    ],
    ids=lambda text: text[:20],
)
def test_no_text_takes_long(text):
    start = time.process_time()
    with contextlib.suppress(InputError):
        parse(text, dialect="cesql")
    assert time.process_time() - start < 15


letters = st.text("ab% \u00a0", max_size=4)
places = st.integers(-4, 5)
STRING_FUNCTIONS = [
    "TRIM({})", "LEFT({}, {p})", "RIGHT({}, {p})", "SUBSTRING({}, {p})", "SUBSTRING({}, {p}, {q})", "CONCAT({}, {})",
    "CONCAT('a', {}, 'b')", "CONCAT_WS('a', {}, 'b', {})",
]  # fmt: skip


@given(st.sampled_from(STRING_FUNCTIONS), places, places, letters, st.lists(letters, min_size=1, max_size=2), st.data())
def test_string_functions_of_attributes_are_those_of_constants(function, p, q, subject, texts, data):
    values = ", ".join(f"'{text}'" for text in texts)
    test = data.draw(st.sampled_from([f"= '{texts[0]}'", f"!= '{texts[0]}'", f"IN ({values})", f"NOT IN ({values})"]))
    name = data.draw(st.sampled_from(["subject", "kind"]))
    form = data.draw(st.sampled_from(["{}", "NOT ({})", "({}) = true"]))
    of_attribute = form.format(function.format(name, name, p=p, q=q) + " " + test)
    of_constant = form.format(function.format(f"'{subject}'", f"'{subject}'", p=p, q=q) + " " + test)
    predicate = parse(of_attribute, dialect="cesql")
    check_forms(predicate)
    assert predicate.matches({name: subject}) == parse(of_constant, dialect="cesql").matches({})
    assert not predicate.matches({})
