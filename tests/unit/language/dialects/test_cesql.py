"""CloudEvents SQL: short translations, strings and patterns, and the place and remedy of mistakes."""

import pytest

from cbnet import parse
from cbnet.errors import InputError, LimitError, PredicateSyntaxError


def translation(expression):
    return str(parse(expression, dialect="cesql"))


@pytest.mark.parametrize(
    ("expression", "predicate"),
    [
        ("kind = 'a' OR kind = 'b' OR kind = 'c'", 'kind = "a" or kind = "b" or kind = "c"'),
        ("a = 'x' OR b = 'y' OR c = 'z'", 'a = "x" or exists a and b = "y" or exists a and exists b and c = "z"'),
        ("a = 'x' AND b = 'y' AND c = 'z'", 'a = "x" and b = "y" and c = "z"'),
        ("EXISTS a AND a > 3", "int(a) > 3"),
        ("a > 3 AND a > 3", "int(a) > 3"),
        ("a > 5 OR a + 1 = 3", "int(a) > 5 or int(a) + 1 = 3"),
        ("a > 5 OR b = 3", "int(a) > 5 or int(a) != null and int(b) = 3"),
        ("true OR 1 / a = 1", "true"),
        ("false AND 1 / a = 1 OR type = 'x'", 'type = "x"'),
        ("'x' = kind", 'kind = "x"'),
        ("5 = kind", 'kind in (true, 5, "5")'),
        ("5 != kind", 'kind not in (true, 5, "5")'),
        ("EXISTS a = b", 'b in (true, 1, "true") and exists a or b in (false, 0, "false") and absent a'),
        ("kind LIKE 'true%'", 'string(kind) ^= "true"'),
        ("type LIKE 'true%'", 'type ^= "true"'),
        ("subject = 5", "int(subject) = 5"),
        ("subject", "subject = true"),
        ("7", "false"),
        ("'true'", "false"),
        ("LENGTH(subject)", "false"),
    ],
)
def test_translations_are_short(expression, predicate):
    def parts(text):
        return sorted(sorted(each.split(" and ")) for each in text.split(" or "))

    assert parts(translation(expression)) == parts(predicate)


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r"'it\'s'", "it's"),
        (r'"it\"s"', 'it"s'),
        (r"'a\"b'", r"a\"b"),
        (r"'a\\'", r"a\\"),
        (r"'a\nb'", r"a\nb"),
        ("'a\nb'", "a\nb"),
    ],
)
def test_a_backslash_escapes_only_the_quote_of_the_string(literal, value):
    assert parse(f"subject = {literal}", dialect="cesql").matches({"type": "t", "subject": value})


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (r"50\%", "50%", "500"),
        (r"a\_b", "a_b", "axb"),
        (r"a\b%", r"a\bc", "abc"),
        (r"a\\%", r"a\%", r"a\x"),  # there is no escape for a backslash: the second one escapes the %
        ("%_%_%", "ab", "a"),
    ],
)
def test_a_backslash_escapes_only_wildcards_in_a_pattern(pattern, matching, other):
    predicate = parse(f"subject LIKE '{pattern}'", dialect="cesql")
    assert predicate.matches({"subject": matching})
    assert not predicate.matches({"subject": other})


@pytest.mark.parametrize(
    ("function", "result"),
    [
        ("LEFT('abc', 2)", "ab"), ("LEFT('abc', 9)", "abc"), ("LEFT('abc', 0)", ""),
        ("RIGHT('abc', 2)", "bc"), ("RIGHT('abc', 9)", "abc"), ("RIGHT('abc', 0)", ""),
        ("SUBSTRING('abc', 2)", "bc"), ("SUBSTRING('abc', -2)", "bc"), ("SUBSTRING('abc', 0)", ""),
        ("SUBSTRING('abc', -3, 2)", "ab"), ("SUBSTRING('abc', 3, 9)", "c"), ("SUBSTRING('abc', 1, 0)", ""),
        ("CONCAT()", ""), ("CONCAT('a', 1, true)", "a1true"), ("CONCAT_WS('-', 'a', 'b')", "a-b"), ("CONCAT_WS('-')", ""),
        ("TRIM('\u00a0 a b\u2003\n')", "a b"), ("TRIM('\x1ca')", "\x1ca"), ("UPPER('aß')", "Aß"), ("STRING(007)", "7"),
    ],
)  # fmt: skip
def test_functions_of_constants_are_computed(function, result):
    predicate = parse(f"subject = {function}", dialect="cesql")
    assert predicate.matches({"subject": result})
    assert not predicate.matches({"subject": result + "x"})


@pytest.mark.parametrize(
    "function", ["LEFT('abc', -1)", "RIGHT('abc', -1)", "SUBSTRING('abc', 4)", "SUBSTRING('abc', -4)",
                 "SUBSTRING('abc', 1, -1)", "LEFT('abc', 'x')", "STRING(1 / 0)"],
)  # fmt: skip
def test_an_error_in_a_function_of_constants_is_an_error_for_every_event(function):
    assert translation(f"{function} != 'zzz' OR true") == "false"


@pytest.mark.parametrize(
    ("expression", "column", "problem", "hint"),
    [
        ("", 1, "the expression is empty", "write TRUE"),
        ("type =", 7, "unexpected end of text", "write a name or a value"),
        ("type = 'a", 8, "unclosed quote", r"\'"),
        ("type == 'a'", 6, "unknown operator `==`", "write ="),
        ("a && b", 3, "unknown operator `&&`", "write AND"),
        ("!a", 1, "unexpected `!`", "write NOT"),
        ("a IS NULL", 3, "unknown operator `IS`", "EXISTS"),
        ("a BETWEEN 1 AND 3", 3, "unknown operator `BETWEEN`", "x >= 1 AND x <= 5"),
        ("a LIKE b", 8, "expected a pattern", "write a string"),
        ("a IN 'x'", 6, "expected `(`", "IN ('a', 'b')"),
        ("a IN ('x' 'y')", 11, "expected `)`", "close"),
        ("EXISTS (a)", 8, "expected a name", "EXISTS subject"),
        ("my_ext = 'a'", 1, "`my_ext` is not an attribute's name", "lower-case letters and digits"),
        ("data = 'a'", 1, "`data` is not an attribute", "data.amount > 5"),
        ("a = 1.5", 6, "unexpected dot", "integers"),
        ("a = 2147483648", 5, "beyond 32 bits", "no attribute"),
        ("a = -2147483649", 6, "beyond 32 bits", "no attribute"),
        ("a = " + "9" * 5_000, 5, "beyond 32 bits", "no attribute"),
        ("+a = 5", 1, "unexpected `+`", "before it"),
        ("type = 'a' AND TRIM(a) = c", 16, "`TRIM` of an attribute is not supported", "white space"),
        ("left(a, b) = 'abc'", 1, "`left` of an attribute is not supported", "LIKE 'abc%'"),
        ("a = 1 OR\n  FOO(a)", 3, "unknown function `FOO`", "LENGTH, LOWER"),
        ("LENGTH(a, b) = 1", 1, "`LENGTH` does not take 2 arguments", "correct"),
        ("BOOL()", 1, "`BOOL` takes one argument", "BOOL(x)"),
        ("a = 'x' # b", 9, "unexpected character '#'", "remove it"),
    ],
)
def test_a_mistake_has_its_place_and_a_remedy(expression, column, problem, hint):
    with pytest.raises(PredicateSyntaxError) as raised:
        parse(expression, dialect="cesql")
    assert raised.value.column == column
    assert problem in raised.value.problem
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    "expression",
    [
        "a IN (" + ", ".join(f"b{number}" for number in range(200)) + ")",
        " + ".join(f"(a = {number})" for number in range(20)) + " = 3",
        "a LIKE '" + "_" * 2_000 + "'",
        "a" + " + 1" * 80 + " = 5",
        " OR ".join(f"a{number} = 'x'" for number in range(1_000)),
    ],
    ids=["elements", "variants", "pattern", "operations", "guards"],
)
def test_expressions_beyond_limits_are_refused(expression):
    with pytest.raises(InputError) as raised:
        parse(expression, dialect="cesql")
    assert raised.value.hint
    assert raised.value.line or isinstance(raised.value, LimitError)


def test_an_expression_must_be_text():
    with pytest.raises(InputError, match="must be a string"):
        parse({"type": "a"}, dialect="cesql")
