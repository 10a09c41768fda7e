import pytest

from cbnet import Constraint, Filter, Message, Predicate, parse
from cbnet.errors import InputError, PredicateSyntaxError


def c(name, op, value=None):
    return Constraint(name, op, value)


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("x=1", [([c("x", "=", 1)], [])]),
        ("x = 1 or y = 2 and z = 3", [([c("x", "=", 1)], []), ([c("y", "=", 2), c("z", "=", 3)], [])]),
        ("(x = 1 or y = 2) and z = 3", [([c("x", "=", 1), c("z", "=", 3)], []), ([c("y", "=", 2), c("z", "=", 3)], [])]),
        ("#a and exists b and #\"c d\"", [([c("b", "exists")], ["a", "c d"])]),
        ("true", [([], [])]),
        ("false", []),
        ("true and x = true", [([c("x", "=", True)], [])]),
        ("false or x = 1", [([c("x", "=", 1)], [])]),
        ("false and x = 1", []),
        ("x = 1 and (true or y = 2)", [([c("x", "=", 1)], []), ([c("x", "=", 1), c("y", "=", 2)], [])]),
        ("`a b` ^= \"\\\"\\\\\\n\\u00e9\\ud83d\\ude00\"", [([c("a b", "^=", '"\\\né😀')], [])]),
        ("`and` = 1 and `\\`` = 2", [([c("and", "=", 1), c("`", "=", 2)], [])]),
        ("``= 1", [([c("", "=", 1)], [])]),
        ("a.b-c_d = -1.5e-3", [([c("a.b-c_d", "=", -0.0015)], [])]),
        ("x >= -9223372036854775808 and x <= 9223372036854775807", [([c("x", ">=", -(2**63)), c("x", "<=", 2**63 - 1)], [])]),
        ("x = 9007199254740993", [([c("x", "=", 2**53 + 1)], [])]),
        ("x = 9007199254740993.0", [([c("x", "=", 2**53)], [])]),
        ("x = 1e-400", [([c("x", "=", 0)], [])]),
        ("x\n=\t1\u00a0or #and", [([c("x", "=", 1)], []), ([], ["and"])]),
        ("like = 1 and In = 2 and AND = 3", [([c("like", "=", 1), c("In", "=", 2), c("AND", "=", 3)], [])]),
        ("NOT = false and x = 1 or NOT > 2", [([c("NOT", "=", False), c("x", "=", 1)], []), ([c("NOT", ">", 2)], [])]),
        ("((((x = 1))))", [([c("x", "=", 1)], [])]),
    ],
)  # fmt: skip
def test_texts_parse_to_the_expected_predicates(text, filters):
    assert parse(text) == Predicate(Filter(constraints, tags) for constraints, tags in filters)


def test_printing_keeps_the_order_of_the_text():
    text = 'alert = "congestion" and severity > 2 or alert = "accident"'
    assert str(parse(text)) == text


def test_highway_example_matches():
    predicate = parse('(alert = "congestion" and severity > 2) or (alert = "accident")')
    assert predicate.matches(Message({"alert": "congestion", "severity": 3, "location": "highway1"}))


def test_non_text_is_refused():
    with pytest.raises(InputError, match="must be a string"):
        parse(5)


@pytest.mark.parametrize(
    ("text", "column", "hint"),
    [
        ("x in [1, 2]", 6, "write (1, 2, 3)"),
        ("x not in {1}", 10, "write (1, 2, 3)"),
        ("x in ()", 7, 'write a "string", a number, true, false or null'),
    ],
)
def test_a_set_that_is_written_otherwise_has_a_hint(text, column, hint):
    with pytest.raises(PredicateSyntaxError) as raised:
        parse(text)
    assert (raised.value.column, raised.value.hint) == (column, hint)
