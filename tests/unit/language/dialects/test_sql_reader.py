"""The reader of SQL-like text, by a small dialect: precedence, limits, positions of errors."""

from __future__ import annotations

import re
from typing import ClassVar

import pytest

from cbnet.errors import InputError, LimitError, PredicateSyntaxError, ValueDomainError
from cbnet.language.dialects.sql_reader import MAX_TREE_DEPTH, Node, SqlReader
from cbnet.language.values import Value


class _Reader(SqlReader):
    PATTERN = re.compile(r"(?P<space>\s+)|(?P<word>[a-zA-Z]+)|(?P<number>[0-9]+)|(?P<symbol>[-+*=(),])")
    KEYWORDS = frozenset({"AND", "OR", "NOT", "IN"})
    PREFIX: ClassVar = {"NOT": 3, "-": 7}
    INFIX: ClassVar = {"OR": 1, "AND": 2, "=": 4, "NOT IN": 4, "+": 5, "-": 5, "*": 6}
    STRAY: ClassVar = {";": ("unexpected semicolon", "remove it")}

    def _decode(self, kind: str, text: str) -> Value:
        if text == "0":
            raise ValueDomainError("zero", hint="write one")
        return int(text) if kind == "number" else text


def _shape(node: Node) -> str:
    return "(" + " ".join([node.op, *map(_shape, node.operands)]) + ")" if node.operands else str(node.value)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("a or b AND not c = d + 2 * -e", "(OR a (AND b (NOT (= c (+ d (* 2 (- e)))))))"),
        ("a - b - c", "(- (- a b) c)"),
        ("a - (b - c)", "(- a (- b c))"),
        ("(a OR b) AND c AND (d AND e)", "(AND (OR a b) c (AND d e))"),
        ("a NOT IN b", "(NOT IN a b)"),
        ("NOT a = b", "(NOT (= a b))"),
    ],
)
def test_operators_bind_by_their_ranks(text: str, shape: str) -> None:
    assert _shape(_Reader(text).tree()) == shape


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("", 1, "empty"),
        ("a = ", 5, "end of text"),
        ("a = = b", 5, "unexpected `=`"),
        ("a AND or b", 7, "unexpected `or`"),
        ("(a = b", 1, "unclosed parenthesis"),
        ("(a b)", 4, "expected `)`"),
        ("a = b)", 6, "unmatched `)`"),
        ("a = b c", 7, "unexpected `c`"),
        ("a = ;", 5, "semicolon"),
        ("a ?", 3, "unexpected character '?'"),
        ("a = = ;", 5, "unexpected `=`"),  # the first of two errors
        ("a = 0", 5, "zero"),
        ("a NOT", 3, "unexpected `NOT`"),
    ],
)
def test_an_error_has_a_position_and_a_remedy(text: str, column: int, problem: str) -> None:
    with pytest.raises(PredicateSyntaxError) as raised:
        _Reader(text).tree()
    assert (raised.value.line, raised.value.column) == (1, column)
    assert problem in raised.value.problem
    assert raised.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "(" * 10_000 + "a" + ")" * 10_000,
        "NOT " * 10_000 + "a",
        "-" * 10_000 + "a",
        "a" + " + a" * 10_000,
        "a" + " = a" * 10_000,
        "a = (b + " * 10_000,
    ],
)
def test_no_text_exhausts_the_stack(text: str) -> None:
    with pytest.raises(LimitError):
        _Reader(text).tree()


def test_long_chains_and_deep_parentheses_are_read() -> None:
    assert len(_Reader(" OR ".join(["a AND b"] * 10_000)).tree().operands) == 10_000
    depth = MAX_TREE_DEPTH - 1
    assert _Reader("(" * depth + "a" + ")" * depth).tree().value == "a"


def test_a_lexical_error_is_an_input_error_with_a_line() -> None:
    with pytest.raises(InputError) as raised:
        _Reader("a =\n  ;").tree()
    assert raised.value.location == "2:3"
