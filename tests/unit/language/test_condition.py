import pytest

from cbnet import parse
from cbnet.errors import LimitError
from cbnet.language.like_pattern import like
from cbnet.language.syntax.parser import parse_condition

# text -> its normal form
NORMAL_FORMS = [
    ("not (x = 3)", "x != 3"),
    ("not (x < 3 and y = 1)", "x >= 3 or y != 1"),
    ("not (x < 3 or y = 1)", "x >= 3 and y != 1"),
    ("not not x = 1", "x = 1"),
    ('not x ^= "a"', 'not (x ^= "a")'),
    ('x not like "a%"', 'not (x ^= "a")'),
    ('x like "a%b%c"', 'x like "a%b%c"'),
    ('x like "%%a%%"', 'x *= "a"'),
    ('x like "a\\\\%"', 'x = "a%"'),
    ("x in (3, 1, 2, 1)", "x in (1, 2, 3)"),
    ('x in ("b", 1, "a", true, null)', 'x in (true, 1, "a", "b", null)'),
    ("x in (5)", "x = 5"),
    ("x not in (5)", "x != 5"),
    ("x not in (1, 2)", "x not in (1, 2)"),
    ("not (x not in (1, 2))", "x in (1, 2)"),
    ("absent x", "absent x"),
    ("not absent x", "exists x"),
    ("not exists x", "absent x"),
    ("not #vip", "not #vip"),
    ("not not #vip", "#vip"),
    ("not x = null", "x != null"),
    ("5 < x", "x > 5"),
    ("x > 2 + 3 * 4", "x > 14"),
    ("x > -y", "x > 0 - y"),
    ("a - b - c > 0", "a - b - c > 0"),
    ("a - (b - c) > 0", "a - (b - c) > 0"),
    ("(a + b) * 2 > c", "(a + b) * 2 > c"),
    ("a + b * 2 > c", "a + b * 2 > c"),
    ("x -1 > 2", "x - 1 > 2"),
    ('lower(x) = "abc"', 'lower(x) = "abc"'),
    ('x = lower("ABC")', 'x = "abc"'),
    ("not a < b", "a >= b"),
    ('(x ^= "a") is not true', '(x ^= "a") is not true'),
    ('not ((x ^= "a") is not true)', 'x ^= "a"'),
    ("(x = 1) is true", "x = 1"),
    ("(x = 1 and y = 2) is not true", "(x = 1) is not true or (y = 2) is not true"),
    ("(not x = 1) is not false", "(x = 1) is not true"),
    ("(x = 1) is false", "x != 1"),
    ("exists x and x > 3 and not (x ^= \"a\")", 'x > 3 and not (x ^= "a")'),
    ("`in` = 1 and `like` = `mod`", "`in` = 1 and `like` = `mod`"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "normal"), NORMAL_FORMS)
def test_texts_have_a_normal_form_that_is_parsed_again(text, normal):
    assert str(parse(text)) == normal
    assert parse(normal) == parse(text)


@pytest.mark.parametrize(
    ("text", "message", "expected"),
    [
        ("not (x = 3)", {}, False),
        ("not (x = 3)", {"x": "a"}, False),
        ("not (x = 3)", {"x": 4}, True),
        ("absent x or x = 3", {}, True),
        ('(x = 3) is not true', {}, True),
        ('(x = 3) is not true', {"x": "a"}, True),
        ('(x = 3) is not true', {"x": 3}, False),
        ("not (x = 3 and y = 1)", {"y": 2}, True),  # unknown and false is false
        ("not (x = 3 or y = 1)", {"y": 2}, False),  # unknown or false is unknown
        ("price * quantity > 100", {"price": 20, "quantity": 5}, False),
        ("price * quantity > 100", {"price": 20, "quantity": 6}, True),
        ("price * quantity > 100", {"price": "20", "quantity": 6}, False),
        ("a < b", {"a": 1, "b": 1.5}, True),
        ("a < b", {"a": 2**53, "b": 2**53 + 1}, True),
        ("a < b", {"a": "a", "b": "b"}, True),
        ("a < b", {"a": False, "b": True}, False),
        ("a = b", {"a": None, "b": None}, True),
        ("a = b", {"a": None, "b": 0}, False),
        ("a != b", {"a": None, "b": 0}, False),
        ("a != b", {"a": None, "b": None}, False),
        ("x != 5", {"x": None}, False),
        ("(x != 5) is not true", {"x": None}, True),
        ("(a != b) is not true", {"a": None, "b": 5}, True),
        ("(x != null) is not true", {"x": 5}, False),
        ("a != b", {"a": 1, "b": "1"}, False),
        ("x / 2 = 2.5", {"x": 5}, True),
        ("x div 2 = 2", {"x": 5}, True),
        ("x div 2 = -2", {"x": -5}, True),
        ("x mod 3 = -2", {"x": -5}, True),
        ("x div 2 = 2", {"x": 5.5}, False),
        ("x / y = 1", {"x": 1, "y": 0}, False),
        ("x + 1 = -9223372036854775808", {"x": 2**63 - 1}, False),
        ("x + 1 = 9223372036854775808.0", {"x": 2**63 - 1}, True),
        ("x * 3000000001 = 9000000003000000000", {"x": 3e9}, True),
        ('lower(x) = "ärger"', {"x": "ÄRGER"}, True),
        ('x like "a_c"', {"x": "abc"}, True),
        ('x like "a_c"', {"x": "a\U0001f600c"}, True),
        ('x like "a_c"', {"x": "ac"}, False),
        ('x like "%a%b%a%"', {"x": "xxaxbxxa"}, True),
        ('x like "%a%b%a"', {"x": "abab"}, False),
        ('x not like "a_c"', {"x": "abd"}, True),
        ('x not like "a_c"', {"x": 5}, False),
        ("x not in (1, 2)", {"x": 3}, True),
        ("x not in (1, 2)", {"x": "a"}, False),
        ("not #t", {"x": 1, "#": ["t"]}, False),
        ("not #t", {"x": 1, "#": ["u"]}, True),
        ("x in (1, 2) and not (x = 2)", {"x": [2, 3]}, False),
        ("x in (1, 2) and not (x = 2)", {"x": [2, 1]}, True),
        ("a * 2 = b", {"a": [1, 2], "b": [3, 4]}, True),
        ("i.a * 2 = i.b", {"i": [{"a": 1, "b": 4}, {"a": 2, "b": 3}]}, False),
    ],
)  # fmt: skip
def test_conditions_decide(text, message, expected):
    assert parse(text).matches(message) is expected


def test_two_large_sets_are_one_filter():
    values = ", ".join(map(str, range(1_000)))
    assert len(parse(f"x in ({values}) and y in ({values})")) == 1


def test_conditions_imply_constraints():
    (filter,) = parse('x like "ab%cd%ef" and not (y ^= "a") and absent z').filters
    assert [str(constraint) for constraint in filter.constraints] == [
        'x ^= "ab"', 'x $= "ef"', 'x *= "cd"', "exists y",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [("", "", True), ("", "%", True), ("a", "", False), ("abc", "a%c%", True), ("aa", "a%a%a", False), ("a%", "a\\%", True),
     ("ab", "__", True), ("ab", "_", False), ("aXbXc", "%_b_%", True), ("a" * 50_000, "%" + "a%" * 300 + "b", False)],
)  # fmt: skip
def test_patterns_match_whole_texts(text, pattern, expected):
    assert like(text, pattern) is expected


def test_single_conditions_are_parsed_alone():
    assert parse_condition("a < b").text == "a < b"
    for text in ("x = 1", "a < b and b < c", "a < b or b < c", "a < b and x = 1"):
        with pytest.raises(ValueError, match="not a single condition"):
            parse_condition(text)


def test_conditions_are_limited_in_length():
    with pytest.raises(LimitError, match="characters in a condition"):
        parse(f"x not in ({', '.join(map(str, range(10_000)))})")
