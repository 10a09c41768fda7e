"""Subscription filters of CloudEvents: their forms, and the place of mistakes."""

import json

import pytest

from cbnet import parse
from cbnet.errors import InputError, PatternError

TYPE = {"exact": {"type": "a"}}


@pytest.mark.parametrize("spaced", [None, 2])
def test_a_filter_is_text_or_objects(spaced):
    rule = [TYPE, {"any": [{"prefix": {"subject": "x"}}, {"sql": "b > 1"}]}]
    assert parse(json.dumps(rule, indent=spaced), dialect="cloudevents") == parse(rule, dialect="cloudevents")


def test_texts_have_no_wildcards():
    predicate = parse({"prefix": {"subject": "50%_\\"}}, dialect="cloudevents")
    assert predicate.matches({"type": "t", "subject": "50%_\\x"})
    assert not predicate.matches({"type": "t", "subject": "50xx\\x"})


@pytest.mark.parametrize(
    ("rule", "path", "problem"),
    [
        ("x", "", "not JSON"),
        ('{"exact": {"type": "a", "type": "b"}}', "", "occurs twice"),
        (5, "", "expected a filter, not a number"),
        ({}, "", "a filter has one dialect, not 0"),
        ([TYPE, {}], "[1]: ", "a filter has one dialect"),
        ({**TYPE, "prefix": {"type": "b"}}, "", "a filter has one dialect, not 2"),
        ({"regex": {"type": "a"}}, "", "unknown dialect 'regex'"),
        ({"exact": {}}, "exact: ", "expected an object with attributes"),
        ({"exact": {"": "a"}}, "exact: ", "`` is not an attribute's name"),
        ({"exact": {"Type": "a"}}, "exact: ", "`Type` is not an attribute's name"),
        ({"exact": {"#": "a"}}, "exact: ", "`#` is not an attribute's name"),
        ({"exact": {"data": "a"}}, "exact: ", "`data` is not an attribute"),
        ({"exact": {"type": 5}}, "exact.type: ", "expected a string, not a number"),
        ({"suffix": {"type": ""}}, "suffix.type: ", "the string is empty"),
        ({"exact": {"type": "\ud800"}}, "exact.type: ", "half of a surrogate pair"),
        ({"all": []}, "all: ", "expected a list of filters"),
        ({"any": [TYPE, {"not": TYPE, "sql": "true"}]}, "any[1]: ", "a filter has one dialect"),
        ({"not": [TYPE]}, "not: ", "expected a filter, not a list"),
        ({"sql": 5}, "sql: ", "expected an expression"),
        ({"not": {"sql": "type = 'a' OR\n TRIM(b) = c"}}, "not.sql: ", "character 2 of line 2: `TRIM` of an attribute"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_path(rule, path, problem):
    with pytest.raises(InputError) as raised:
        parse(rule, dialect="cloudevents")
    assert raised.value.problem.startswith(path)
    assert problem in raised.value.problem


def test_a_mistake_in_a_text_has_its_line_and_column():
    with pytest.raises(PatternError) as raised:
        parse('{"all": [\n  {"exact": {"type": "a"}},\n  {"prefix": {"type": 5}}\n]}', dialect="cloudevents")
    assert (raised.value.line, raised.value.column) == (3, 23)
    assert raised.value.hint == "write the value in quotes"


def test_deep_filters_are_refused():
    rule = TYPE
    for _ in range(100):
        rule = {"not": rule}
    with pytest.raises(PatternError, match="nested deeper than 64 levels"):
        parse(rule, dialect="cloudevents")
    with pytest.raises(InputError, match="too deeply nested"):
        parse("[" * 100_000, dialect="cloudevents")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"exact": {"type": "a", "type": "b"}}', (1, 25)),
        ('{"exact": {"type": "a"},\n "exact": {"type": "a"}}', (2, 2)),
        (' [{"exact": {"type": "a"}},\n {"exact": {"id": "\\"", "id": "b"}}]', (2, 25)),
    ],
)
def test_a_repeated_key_has_its_line_and_column(text, place):
    with pytest.raises(InputError, match="occurs twice") as raised:
        parse(text, dialect="cloudevents")
    assert (raised.value.line, raised.value.column) == place
