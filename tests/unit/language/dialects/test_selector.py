"""SQL selectors: their translation, and the place of mistakes."""

import pytest

from cbnet import parse
from cbnet.errors import InputError, LimitError, PredicateSyntaxError


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ("tint = 'it''s'", 'tint = "it\'s"'),
        ("5 <> n", "n != 5"),
        ("s IN ('b', 'a', 'b')", 's in ("a", "b")'),
        ("s IN ('a')", 's = "a"'),
        ("s LIKE 'ab%'", 's ^= "ab"'),
        ("s LIKE '%ab'", 's $= "ab"'),
        ("s LIKE '%ab%'", 's *= "ab"'),
        ("s LIKE 'a_c'", 's like "a_c"'),
        ("s LIKE '50!%%' ESCAPE '!'", 's ^= "50%"'),
        ("s LIKE 'a\\%'", 's ^= "a\\\\"'),
        ("n BETWEEN 1 AND 5", "n >= 1 and n <= 5"),
        ("n NOT BETWEEN 1 AND 5", "n < 1 or n > 5"),
        ("n IS NULL", "(n = null) is not false"),
        ("NOT n IS NULL", "n != null"),
        ("n IS NOT NULL", "n != null"),
        ("hot", "hot = true"),
        ("hot = FALSE AND TRUE", "hot = false"),
        ("NOT (n = 5)", "n != null and (n = 5) is not true"),
        ("s NOT IN ('a', 'b')", 's != null and (s in ("a", "b")) is not true'),
        ("s NOT LIKE 'a%'", 's != null and (s ^= "a") is not true'),
        ("NOT (a = 1 OR b IS NULL)", "a != null and b != null and (a = 1) is not true"),
        ("a = b", "a != null and b != null and a = b"),
        ("a < b", "a + 0 < b"),  # selectors do not order strings
        ("price * quantity >= 100", "price * quantity >= 100"),
        ("-n < +3", "0 - n < 3"),
        ("n / 2 > m / 2.0", "n / 2 > m / 2"),
        ("n = 7 / 2", "n = 3.5"),
        ("n = 0x1F OR n = 017 OR n = 1_000L OR n = .5e1 OR n = 0x1p4", "n = 31 or n = 15 or n = 1000 or n = 5 or n = 16"),
        ("n = -9223372036854775808", "n = -9223372036854775808"),
        ("n = 0.1f", "n = 0.10000000149011612"),
        ("detail.state = 'on'", 'detail.state = "on"'),
        (" \n", "true"),
    ],
)  # fmt: skip
def test_selectors_become_constraints_where_they_can(selector, text):
    assert parse(selector, dialect="selector") == parse(text)


@pytest.mark.parametrize(
    ("selector", "place", "problem", "remedy"),
    [
        ("a = 'open", "1:5", "unclosed quote", "end the string"),
        ('a = "x"', "1:5", "single quotes", "write '…'"),
        ("a == 1", "1:3", "unknown operator `==`", "write ="),
        ("a != 1", "1:3", "unknown operator `!=`", "write <>"),
        ("a % 2 = 1", "1:3", "no remainder", "attribute"),
        ("a = NULL", "1:5", "NULL is not a value", "IS NULL"),
        ("a IS TRUE", "1:6", "expected `NULL`", "IS NOT NULL"),
        ("between = 3", "1:1", "unexpected `between`", "reserved word"),
        ("lower(a) = 'x'", "1:1", "unknown function `lower`", "no functions"),
        ("a = 1\n  AND 'b'", "2:7", "expected a condition", "comparison"),
        ("a + 1", "1:3", "expected a condition", "comparison"),
        ("1 < n < 5", "1:3", "gives a condition", "AND"),
        ("s > 'b'", "1:5", "compares numbers, not a string", "= and <>"),
        ("b BETWEEN TRUE AND 5", "1:11", "compares numbers, not a bool", "= and <>"),
        ("s + 'b' = 1", "1:5", "needs numbers, not a string", "number"),
        ("+'b' = s", "1:2", "`+` needs numbers, not a string", "number"),
        ("TRUE = 0", "1:8", "a bool never equals a number", "property"),
        ("n = 1 / 0", "1:7", "has no value", "operands"),
        ("n = 9223372036854775808", "1:5", "does not fit in 64 bits", "decimal point"),
        ("n = 1e999", "1:5", "infinity", "finite"),
        ("n = 08", "1:5", "not a number", "octal"),
        ("n = 1.2.3", "1:5", "not a number", "57"),
        ("s IN (1, 2)", "1:7", "expected a string", "IN ('a', 'b')"),
        ("s IN ('a'", "1:6", "unclosed parenthesis", "`)`"),
        ("'a' IN ('a')", "1:1", "needs the name of a property", "name alone"),
        ("s LIKE t", "1:8", "expected a string", "LIKE 'a%'"),
        ("s LIKE 'a' ESCAPE '!!'", "1:19", "one character", "ESCAPE '!'"),
        ("s LIKE 'a!' ESCAPE '!'", "1:8", "ends with its escape", "escape a %"),
        ("n BETWEEN 1 OR 5", "1:13", "expected `AND`", "BETWEEN 1 AND 5"),
        ("a\u00a0= 1", "1:1", "U+00A0", "letters"),
        ("a = '\ud800'", "1:5", "surrogate", "whole code point"),
    ],
)
def test_a_mistake_has_a_place_and_a_remedy(selector, place, problem, remedy):
    with pytest.raises(PredicateSyntaxError) as raised:
        parse(selector, dialect="selector")
    assert raised.value.location == place
    assert problem in raised.value.problem
    assert remedy in raised.value.hint


def test_a_selector_is_text():
    with pytest.raises(InputError, match="must be a string"):
        parse(["a = 1"], dialect="selector")


@pytest.mark.parametrize(
    "selector",
    [
        "n" + " + m" * 80 + " > 1",
        "(" * 40 + "n" + " + m) * m" * 40 + " > 1",
        "n > " + "m - (" * 40 + "n" + ")" * 40,
    ],
)
def test_nested_arithmetic_is_limited_at_its_place(selector):
    with pytest.raises(LimitError) as raised:
        parse(selector, dialect="selector")
    assert raised.value.location.startswith("1:")


def test_long_lists_stay_one_constraint():
    values = ", ".join(f"'value-{number:05}'" for number in range(10_000))
    (filter,) = parse(f"s IN ({values})", dialect="selector").filters
    assert len(filter.constraints) == 1
