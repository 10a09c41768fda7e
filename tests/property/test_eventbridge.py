"""Event patterns match the events that a direct reading of the documents matches, by predicates and by tables."""

import ipaddress
import json
import operator
import re

from hypothesis import given
from hypothesis import strategies as st
from support.printed_forms import check_forms

from cbnet import Table, parse

texts = st.text("aAbé*%_\\.", max_size=4)
numbers = st.integers(-3, 3) | st.sampled_from([0.5, -1.5, 2.0])
addresses = st.sampled_from(
    ["10.0.0.1", "10.0.1.1", "10.128.0.0", "11.0.0.0", "::1", "2001:db8::5", "10.0.0", "010.0.0.1"]
)
blocks = st.sampled_from(["10.0.0.0/8", "10.0.0.0/23", "10.0.0.1/32", "0.0.0.0/0", "::/64", "2001:db8::/32"])
scalars = st.none() | st.booleans() | numbers | texts | addresses


def one_or_more(each):
    return each | st.lists(each, min_size=1, max_size=3)


def objects(**members):
    return st.one_of(st.fixed_dictionaries({key.replace("_", "-"): value}) for key, value in members.items())


def as_wildcard(parts):
    return "*".join(part.replace("\\", "\\\\").replace("*", "\\*") for part in parts)


wildcards = st.lists(texts.filter(bool), min_size=1, max_size=3).map(as_wildcard)
ignoring_case = objects(equals_ignore_case=texts)
bounds = st.tuples(numbers, numbers).filter(lambda pair: pair[0] < pair[1])
ranges = st.builds(
    lambda lower, upper, pair: [lower, pair[0], upper, pair[1]],
    st.sampled_from([">", ">="]), st.sampled_from(["<", "<="]), bounds,
)  # fmt: skip
comparisons = st.tuples(st.sampled_from(["=", "<", "<=", ">", ">="]), numbers).map(list)
excluded = (
    one_or_more(texts)
    | one_or_more(numbers)
    | objects(
        prefix=one_or_more(texts.filter(bool)),
        suffix=one_or_more(texts.filter(bool)),
        equals_ignore_case=one_or_more(texts),
        wildcard=one_or_more(wildcards),
    )
)
matchers = objects(
    prefix=texts | ignoring_case,
    suffix=texts | ignoring_case,
    equals_ignore_case=texts,
    wildcard=wildcards,
    anything_but=excluded,
    numeric=comparisons | ranges,
    cidr=blocks,
    exists=st.booleans(),
)
fields = st.lists(scalars | matchers, min_size=1, max_size=3)
values = scalars | st.lists(scalars, max_size=3)


def patterns(names):
    return st.dictionaries(st.sampled_from(names), fields, min_size=1, max_size=2)


whole_patterns = st.builds(
    lambda pattern, nested, either: {**pattern, **nested, **either},
    patterns("ab"),
    st.just({}) | patterns("cd").map(lambda inner: {"n": inner}),
    st.just({}) | st.lists(patterns("ef"), min_size=2, max_size=3).map(lambda inner: {"$or": inner}),
)
events = st.builds(
    lambda flat, nested: {**flat, "n": nested},
    st.dictionaries(st.sampled_from("abef"), values),
    st.dictionaries(st.sampled_from("cd"), values),
)


def matches(pattern, event):
    return all(
        any(matches(each, event) for each in value)
        if key == "$or"
        else matches(value, event.get(key, {}))
        if isinstance(value, dict)
        else any(holds(each, event.get(key, [])) for each in value)
        for key, value in pattern.items()
    )


def holds(matcher, value):
    found = value if isinstance(value, list) else [value]
    if matcher in ({"exists": True}, {"exists": False}):
        return bool(found) == matcher["exists"]
    return any(accepts(matcher, each) for each in found)


def accepts(matcher, value):
    if not isinstance(matcher, dict):
        return isinstance(matcher, bool) == isinstance(value, bool) and matcher == value
    ((key, operand),) = matcher.items()
    if key == "anything-but":
        kind, operand = next(iter(operand.items())) if isinstance(operand, dict) else (None, operand)
        listed = operand if isinstance(operand, list) else [operand]
        return not any(accepts({kind: each} if kind else each, value) for each in listed)
    if key == "numeric":
        return isinstance(value, int | float) and not isinstance(value, bool) and in_bounds(operand, value)
    return isinstance(value, str) and accepts_text(key, operand, value)


def in_bounds(operand, value):
    operators = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
    return all(operators[op](value, bound) for op, bound in zip(operand[::2], operand[1::2], strict=True))


def accepts_text(key, operand, value):
    if isinstance(operand, dict):
        operand, value = operand["equals-ignore-case"].lower(), value.lower()
    if key == "prefix":
        return value.startswith(operand)
    if key == "suffix":
        return value.endswith(operand)
    if key == "equals-ignore-case":
        return value.lower() == operand.lower()
    if key == "wildcard":
        parts = re.findall(r"\\.|.", operand, re.DOTALL)
        return re.fullmatch("".join(".*" if part == "*" else re.escape(part[-1]) for part in parts), value, re.DOTALL)
    try:
        return ipaddress.ip_address(value) in ipaddress.ip_network(operand, strict=False)
    except ValueError:
        return False


@given(whole_patterns, st.lists(events, min_size=1, max_size=5))
def test_patterns_match_as_the_documents_say(pattern, events):
    expected = [matches(pattern, event) for event in events]
    predicate = parse(json.dumps(pattern), dialect="eventbridge")
    assert [predicate.matches(event) for event in events] == expected
    table = Table.build({"pattern": predicate})
    assert [bool(found) for found in table.match_many(events)] == expected
    check_forms(predicate)
