"""Regular expressions mean what Python's `re` says on the syntax that both have, in the language and in the kernel."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.printed_forms import check_forms
from support.regexes import patterns, texts

from cbnet import covers, parse
from cbnet._kernels.condition_eval import evaluate
from cbnet.language import regex
from cbnet.language.condition import Condition, RegexTest
from cbnet.language.constraint import Constraint
from cbnet.language.expression import Attribute
from cbnet.language.formula import predicate_of
from cbnet.matching.storage.condition_code import decode_condition, encode_condition


@given(patterns, st.lists(texts, min_size=1, max_size=5))
def test_patterns_occur_where_re_finds_them(pattern, texts):
    ours, pythons = pattern
    condition = Condition(RegexTest(Attribute("x"), ours))
    code = encode_condition(condition)
    assert decode_condition(code) == condition
    for text in texts:
        expected = re.search(pythons, text) is not None
        assert regex.search(text, ours) == expected
        assert evaluate(code, {"x": text}) == expected


@given(patterns, st.lists(texts, min_size=1, max_size=5))
def test_what_a_pattern_implies_holds_of_the_texts_in_which_it_occurs(pattern, texts):
    predicate = predicate_of(RegexTest(Attribute("x"), pattern[0]))
    check_forms(predicate)
    implied = [Constraint("x", op, text) for op, text in regex.implied(pattern[0])]
    for text in texts:
        found = regex.search(text, pattern[0])
        assert predicate.matches({"x": text}) == found
        assert not found or all(constraint.accepts(text) for constraint in implied)
    assert all(covers(constraint, predicate) for constraint in implied)


@pytest.mark.parametrize(
    "pattern", ["(a*)*b", "(a|aa)+$", "(a|a?)+b", "((a+)+)+b", "(?:a?){150}a{150}b", "(.*)(.*)(.*)(.*)=$"]
)
def test_steps_per_character_are_bounded_for_every_pattern(pattern, monkeypatch):
    accepts, calls = regex._accepts, []
    monkeypatch.setattr(regex, "_accepts", lambda *each: calls.append(1) or accepts(*each))
    for length in (50, 100, 200):
        calls.clear()
        assert not regex.search("a" * length + "!", pattern)
        assert len(calls) <= len(regex.program_of(pattern).steps) * (length + 1)


@given(patterns, st.binary(max_size=4), st.integers(0, 400), texts)
def test_a_damaged_program_gives_an_answer(pattern, noise, place, text):
    code = bytearray(encode_condition(Condition(RegexTest(Attribute("x"), pattern[0]))))
    place %= len(code)
    code[place : place + len(noise)] = noise
    assert evaluate(bytes(code), {"x": text}) in (True, False)
    assert evaluate(bytes(code[:place]), {"x": text}) in (True, False)


def test_negation_and_types_follow_three_valued_logic():
    assert parse('not (x =~ "^a")').matches({"x": "b"})
    assert not parse('not (x =~ "^a.")').matches({"x": 5})
    assert parse('(x =~ "^a.") is not true').matches({"x": 5})
    assert parse('(x =~ "^a.") is not true').matches({})
