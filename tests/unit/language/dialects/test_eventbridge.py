"""Event patterns of EventBridge: their translation, and the place of mistakes."""

import json

import pytest

from cbnet import parse
from cbnet.errors import InputError, PatternError


def translation(pattern):
    return str(parse(pattern, dialect="eventbridge"))


def field(*alternatives):
    """Return the translation of the alternatives of a field f."""
    return translation({"f": list(alternatives)})


@pytest.mark.parametrize(
    ("alternatives", "text"),
    [
        (["a"], 'f = "a"'),
        (["b", "a", 1, 1.0, True, None], 'f in (true, 1, "a", "b", null)'),
        ([{"prefix": "a"}], 'f ^= "a"'),
        ([{"exactly": "a"}], 'f = "a"'),
        ([{"suffix": "a"}], 'f $= "a"'),
        ([{"prefix": {"equals-ignore-case": "Ab"}}], 'lower(f) ^= "ab"'),
        ([{"suffix": {"equals-ignore-case": ".PNG"}}], 'lower(f) $= ".png"'),
        ([{"equals-ignore-case": "ÉA"}], 'lower(f) = "éa"'),
        ([{"equals-ignore-case": "A"}, {"equals-ignore-case": "b"}], 'lower(f) in ("a", "b")'),
        ([{"wildcard": "a*b"}], 'f like "a%b"'),
        ([{"wildcard": "*b*"}], 'f *= "b"'),
        ([{"wildcard": "50%_*\\*\\\\*c"}], 'f like "50\\\\%\\\\_%*\\\\\\\\%c"'),
        ([{"numeric": ["=", 5]}], "f = 5"),
        ([{"numeric": [">", 0, "<=", 5]}], "f > 0 and f <= 5"),
        ([{"cidr": "10.1.2.3/8"}], 'f in cidr("10.0.0.0/8")'),
        ([{"cidr": "2001:DB8::/32"}], 'f in cidr("2001:db8::/32")'),
        ([{"exists": True}], "exists f"),
        ([{"exists": False}], "absent f"),
        ([{"anything-but": "a"}], 'exists f and (f = "a") is not true'),
        ([{"anything-but": ["b", "a"]}], 'exists f and (f in ("a", "b")) is not true'),
        ([{"anything-but": {"prefix": "a"}}], 'exists f and (f ^= "a") is not true'),
        (
            [{"anything-but": {"suffix": ["a", "b"]}}],
            'exists f and (f $= "a") is not true and (f $= "b") is not true',
        ),
        ([{"anything-but": {"equals-ignore-case": ["A", "B"]}}], 'exists f and (lower(f) in ("a", "b")) is not true'),
        ([{"anything-but": {"wildcard": "a*b"}}], 'exists f and (f like "a%b") is not true'),
        (["b", {"prefix": "c"}, "a", {"exists": False}], 'f in ("a", "b") or f ^= "c" or absent f'),
        (["a", {"numeric": ["=", 1]}], 'f in (1, "a")'),
    ],
)
def test_alternatives_of_a_field_have_one_translation(alternatives, text):
    assert field(*alternatives) == text


def test_fields_are_a_conjunction_of_nested_names():
    pattern = {"source": ["s"], "detail": {"a": [1], "b.c": {"d": [2]}}}
    assert translation(pattern) == 'source = "s" and detail.a = 1 and detail.b.c.d = 2'


def test_or_joins_patterns_of_its_level():
    pattern = {"detail": {"k": [0], "$or": [{"a": [1], "b": [2]}, {"c": {"d": [3]}}]}}
    assert translation(pattern) == ("detail.k = 0 and detail.a = 1 and detail.b = 2 or detail.k = 0 and detail.c.d = 3")


def test_two_long_lists_are_one_filter():
    pattern = {name: list(range(1000)) for name in "ab"}
    assert len(parse(json.dumps(pattern), dialect="eventbridge")) == 1


def test_text_and_object_have_the_same_translation():
    pattern = {"a": [{"anything-but": {"prefix": "x"}}], "b": {"c": [None]}}
    assert translation(json.dumps(pattern)) == translation(pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ([], "expected an object, not a list"),
        ({}, "the object is empty"),
        ({"a": "x"}, "a: the values of a field must be in a list; write [ ] around the value"),
        ({"a": []}, 'a: the list of values is empty; write [{"exists": false}] for a field that is absent'),
        ({"a": {"b": {}}}, "a.b: the object is empty"),
        ({"a": [["x"]]}, "a[0]: value: a list is not a value"),
        ({"a": [2**64]}, "a[0]: value: the integer does not fit in 64 bits"),
        ({"#": ["x"]}, '#: the name "#" is reserved'),
        ({"a": [{"prefx": "x"}]}, "a[0]: unknown matcher `prefx`; write prefix"),
        ({"a": [{"regex": "x"}]}, "a[0]: unknown matcher `regex`; the matchers are prefix, suffix"),
        ({"a": ["x", {"prefix": "x", "suffix": "y"}]}, "a[1]: a matcher must have one key, not 2"),
        ({"a": [{"prefix": 5}]}, "a[0].prefix: expected a string, not a number"),
        ({"a": [{"suffix": {"prefix": "x"}}]}, "a[0].suffix: unknown matcher `prefix`; write a string, or"),
        ({"a": [{"wildcard": "a**"}]}, "a[0].wildcard: two wildcards in succession; write one `*`"),
        ({"a": [{"wildcard": "a\\b"}]}, "a[0].wildcard: unknown escape `\\b`; write `\\*` for an asterisk"),
        ({"a": [{"wildcard": "a" * 1025}]}, "a[0].wildcard: a pattern of more than 1024 characters"),
        ({"a": [{"cidr": "10.0.0.0"}]}, 'a[0].cidr: "10.0.0.0" is not a block of addresses'),
        ({"a": [{"exists": "yes"}]}, "a[0].exists: expected true or false, not a string"),
        ({"detail": {"price": [1, {"numeric": [">", "5"]}]}}, "detail.price[1].numeric[1]: expected a number, not"),
        ({"a": [{"numeric": ["!=", 5]}]}, "a[0].numeric[0]: expected an operator; use one of = < <= > >="),
        ({"a": [{"numeric": ["<", 5, ">", 1]}]}, "a[0].numeric: a range needs a lower bound and then an upper"),
        ({"a": [{"numeric": [">", 5, "<", 5]}]}, "a[0].numeric: the lower bound is not below the upper bound"),
        ({"a": [{"anything-but": True}]}, "a[0].anything-but: `anything-but` does not take a bool"),
        ({"a": [{"anything-but": ["x", None]}]}, "a[0].anything-but[1]: `anything-but` does not take null"),
        ({"a": [{"anything-but": ["x", 1]}]}, "a[0].anything-but: strings and numbers in one list"),
        ({"a": [{"anything-but": {"cidr": "::/0"}}]}, "a[0].anything-but: `anything-but` does not take `cidr`"),
        (
            {"a": [{"anything-but": {"prefix": {"equals-ignore-case": "x"}}}]},
            "a[0].anything-but.prefix: expected a string, not a nested object",
        ),
        ({"a": [{"exactly": 5}]}, "a[0].exactly: expected a string"),
        ({"a": [{"anything-but": {"prefix": ["x", ""]}}]}, "a[0].anything-but.prefix[1]: an empty prefix excludes"),
        ({"$or": [{"a": [1]}]}, "$or: `$or` must be a list of two or more objects"),
        ({"d": {"$or": [{"a": [1]}, 5]}}, "d.$or[1]: expected an object, not a number"),
    ],
)
def test_mistakes_have_a_path_and_a_remedy(pattern, message):
    with pytest.raises(PatternError) as info:
        parse(pattern, dialect="eventbridge")
    assert str(info.value).startswith(message)
    assert info.value.hint


def test_mistakes_in_a_text_have_a_line_and_column():
    text = '{"source": ["s"],\n "detail": {"price": [1, {"numeric": [">", "5"]}]}}'
    with pytest.raises(PatternError) as info:
        parse(text, dialect="eventbridge")
    assert (info.value.line, info.value.column) == (2, text.split("\n")[1].index('"5"') + 1)


def test_text_that_is_not_json_is_refused_at_its_place():
    with pytest.raises(InputError, match="1:9: not JSON"):
        parse('{"a": [1}', dialect="eventbridge")


@pytest.mark.parametrize("depth", [65, 400, 100_000])
def test_deep_patterns_are_refused(depth):
    with pytest.raises(InputError, match="nested"):
        parse('{"a":' * depth + "[1]" + "}" * depth, dialect="eventbridge")
