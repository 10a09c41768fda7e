import json
import random
import string
import sys
import time
from itertools import product

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from support.predicate_texts import predicate_texts
from support.printed_forms import check_forms
from support.rich_language import rich_predicates
from support.seeds import seeds
from support.strategies import any_messages, any_predicates, predicates

from cbnet.errors import InputError, LimitError, PredicateSyntaxError
from cbnet.language import (
    Limits,
    Op,
    message_from_json,
    message_to_json,
    parse,
    reduce,
    size,
)
from cbnet.language.condition import Comparison
from cbnet.language.expression import Arithmetic, Attribute, Constant
from cbnet.language.formula import predicate_of
from cbnet.language.values import INT_MAX, INT_MIN


@given(any_predicates | predicates() | rich_predicates)
def test_every_form_of_a_predicate_gives_it_back(predicate):
    check_forms(predicate)


@given(predicate_texts)
@example("not (1 in (2, 3))")
@example("1 > false + x")
@example("x = `Infinity`")
@example("true = x or 1 < 2")
def test_every_form_of_what_a_text_means_gives_it_back(text):
    try:
        predicate = parse(text)
    except InputError:
        assume(False)
    check_forms(predicate)


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "div", "mod"])
def test_arithmetic_with_any_constant_and_any_name_is_parsed_back(operator):
    constants = map(Constant, (INT_MIN, INT_MIN + 1, -1, 0, INT_MAX, 2.0**63, 5e-324))
    names = map(Attribute, ("x", "div", "mod", "in", "abs"))
    for constant, name, inner in product(constants, names, ("-", "div")):
        for operands in ((name, constant), (constant, name), (Arithmetic(inner, name, constant), name)):
            test = Comparison(Op.NE, Arithmetic(operator, *operands), Attribute("y"))
            predicate = predicate_of(test)
            assert parse(str(predicate)) == predicate


@given(any_predicates)
def test_a_repr_can_be_evaluated(predicate):
    assert eval(repr(predicate), {"parse": parse}) == predicate


@given(any_messages)
def test_messages_survive_json(message):
    text = message_to_json(message)
    assert message_from_json(text) == message
    assert json.loads(text) == message.to_dict()


_FRAGMENTS = [
    "x",
    "=",
    "==",
    "!=",
    "<",
    ">=",
    "^=",
    "$=",
    "*=",
    "and",
    "or",
    "not",
    "exists",
    "true",
    "(",
    ")",
    "#a",
]
_FRAGMENTS += [
    '"a"',
    '"',
    "`",
    "`a b`",
    "5",
    "-1.5e3",
    "1e999",
    "99999999999999999999",
    "\\",
    "\\ud800",
    "'",
    ",",
    "é",
]
_FRAGMENTS += [
    " ",
    "\n",
    "\0",
    "#",
    '#"',
    "&&",
    "|",
    "like",
    "in",
    "between",
    "AND",
    "null",
    "日本",
    "\ud800",
    "0x1",
]


def _check_total(text):
    """Parse; whatever happens, it is a predicate or a clear error inside the text."""
    try:
        predicate = parse(text)
    except InputError as error:
        assert error.problem
        assert error.summary.isprintable()
        assert len(error.summary) < 800
        assert 1 <= error.line <= text.count("\n") + 1
        if isinstance(error, PredicateSyntaxError):
            assert 0 <= error.position <= len(text)
            assert error.excerpt().count("\n") == 1
    else:
        check_forms(predicate)


@given(st.text(max_size=60) | st.lists(st.sampled_from(_FRAGMENTS), max_size=20).map("".join))
@example('x = "\\')
@example('#"')
@example("(")
def test_random_text_gives_a_predicate_or_an_error_inside_the_text(text):
    _check_total(text)


@given(st.lists(st.sampled_from(_FRAGMENTS), max_size=14).map(" ".join))
def test_random_words_give_a_predicate_or_an_error_inside_the_text(text):
    _check_total(text)


@pytest.mark.parametrize("seed", seeds(1))
def test_mutated_predicates_give_a_predicate_or_an_error_inside_the_text(seed):
    random_source = random.Random(seed)
    original = (
        '(dest = "MXP\\n" and price < 500 or `air line` ^= "U\\u0041") and #upgradeable and exists x or y != -1e9'
    )
    for _ in range(4_000):
        chars = list(original)
        for _ in range(random_source.randint(1, 4)):
            place = random_source.randrange(len(chars))
            chars[place : place + random_source.randint(0, 2)] = random_source.choice(string.printable)
        _check_total("".join(chars))


_TWELVE = " and ".join(["(#a or #b)"] * 12)  # 4,096 filters


@pytest.mark.parametrize(
    ("text", "outcome"),  # the number of filters, or the error
    [
        ("(" * 500_000, LimitError),
        ("x = 1 and " * 30_000 + "x = 1", 1),
        (" or ".join(["#a"] * 50_000), LimitError),
        (" and ".join(["(a = 1 or b = 2)"] * 15_000), LimitError),
        (" and ".join(["(a = 1 or b = 2)"] * 30) + " and false", 0),
        (" and ".join([f"({' or '.join(['a = 1'] * 100)})"] * 2), 1),
        ("x = " + "9" * 900_000, PredicateSyntaxError),
        ('x = "' + "\\u0041" * 150_000 + '"', 1),
        ('x = "' + '\\"' * 400_000, PredicateSyntaxError),
        ("x = 1e" + "9" * 900_000, PredicateSyntaxError),
        ("#" * 900_000, PredicateSyntaxError),
        ("((((((a = 1 or b = 2) and c = 3) or d = 4) and e = 5) or f = 6) and g = 7)" + " " * 900_000, 4),
        ("(" * 99 + "x = 1" + ")" * 99 + " and true", 1),
        (" or ".join(["(" * 99 + "x = 1" + ")" * 99] * 1_300), 1),
        ("x = 1" + "0" * 10_000 + ".5", PredicateSyntaxError),
        (" or ".join(["(" * 88 + _TWELVE + " and true)" * 88 + " and false"] * 250), LimitError),
    ],
)
def test_no_text_within_the_limits_is_slow_to_parse(text, outcome):
    assert len(text) <= Limits().length
    start = time.process_time()
    try:
        actual = len(parse(text))
    except InputError as error:
        actual = type(error)
    assert time.process_time() - start < 15  # 1 s on an idle machine
    assert actual == outcome


_WORDS = ["".join(letters) for letters in product("abcdefghij", repeat=4)]


@pytest.mark.parametrize(
    ("text", "filters", "constraints"),
    [
        (" or ".join(f"x = {n}" for n in range(10_000)), 10_000, 10_000),
        (" or ".join(f"x != {n}" for n in range(10_000)), 10_000, 10_000),
        (" or ".join(f"x > {n}" for n in range(10_000, 0, -1)), 1, 1),
        (" or ".join(f"x > {n} and y > {-n}" for n in range(5_000)), 5_000, 10_000),
        (" and ".join(f"x != {n}" for n in range(20_000)), 1, 20_000),
        (" and ".join(f"x = {n}" for n in range(20_000)), 0, 0),
        (" or ".join(f's *= "{word}"' for word in _WORDS), 10_000, 10_000),
        (" and ".join(f's *= "{word}"' for word in _WORDS), 1, 10_000),
        (" and ".join(f's *= "{word}" and s $= "{word}"' for word in _WORDS[:5_000]), 0, 0),
    ],
)
def test_no_text_within_the_limits_is_slow_to_reduce(text, filters, constraints):
    predicate = parse(text)
    start = time.process_time()
    reduced = reduce(predicate)
    assert time.process_time() - start < 80  # 2 s on an idle machine
    assert (len(reduced), size(reduced)) == (filters, constraints)


def test_nesting_is_limited_by_the_limit_and_not_by_the_stack():
    text = "(" * 5_000 + "x = 1" + ")" * 5_000
    assert str(parse(text, Limits(nesting=5_000))) == "x = 1"

    def parsed_at(depth):
        return parsed_at(depth - 1) if depth else parse("(" * 100 + "x = 1" + ")" * 100)

    assert str(parsed_at(sys.getrecursionlimit() - 200)) == "x = 1"


def test_limits_are_errors_that_carry_their_numbers():
    with pytest.raises(LimitError) as too_many:
        parse(" and ".join(f"({' or '.join(f'{name} = {n}' for n in range(101))})" for name in "ab"))
    assert (too_many.value.count, too_many.value.limit) == (101 * 101, 10_000)
    with pytest.raises(LimitError) as too_large:
        parse(" and ".join(["(a = 1 or b = 2)"] * 13))
    assert (too_large.value.count, too_large.value.limit) == (2**13 * 13, 100_000)
    with pytest.raises(LimitError) as too_long:
        parse(" " * 1_000_001)
    assert (too_long.value.count, too_long.value.limit) == (1_000_001, 1_000_000)
    with pytest.raises(LimitError) as too_deep:
        parse("(" * 101 + "x = 1" + ")" * 101)
    assert (too_deep.value.count, too_deep.value.limit, too_deep.value.column) == (101, 100, 101)
    assert len(parse("a = 1 or b = 2 or c = 3", Limits(filters=3))) == 3
    with pytest.raises(LimitError):
        parse("a = 1 or b = 2 or c = 3", Limits(filters=2))
