"""Parser: what does the text of a predicate say? Written by hand, so that errors can help.

    predicate   = conjunction { "or" conjunction }
    conjunction = term { "and" term }
    term        = "(" predicate ")" | "exists" name | tag | name operator value | "true" | "false"

Parentheses are distributed into disjunctive normal form. Text, nesting and the normal form have
limits, checked before the work is done: no input makes the parser slow or deep.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, product
from typing import TypeAlias

from cbnet.errors import InputError, LimitError, PredicateSyntaxError
from cbnet.language.advice import (
    after_name_advice,
    name_advice,
    negation_advice,
    operator_advice,
    trailing_advice,
    value_advice,
)
from cbnet.language.constraint import Constraint, Op, refusal, takes
from cbnet.language.filter import Filter
from cbnet.language.lexer import Lexeme, Token, tokenize
from cbnet.language.predicate import Predicate
from cbnet.language.values import RESERVED_NAME, kind


@dataclass(frozen=True)
class Limits:
    """How large a text may be, and its disjunctive normal form."""

    length: int = 1_000_000
    nesting: int = 100
    filters: int = 10_000
    constraints: int = 100_000


DEFAULT_LIMITS = Limits()
_OPERATORS = {op.value: op for op in Op if op is not Op.EXISTS}

# A conjunction that is being read: constraints, and tags as plain strings.
_Draft: TypeAlias = tuple[Constraint | str, ...]


def parse(text: str, limits: Limits = DEFAULT_LIMITS) -> Predicate:
    """Return the predicate that a text says."""
    if not isinstance(text, str):
        raise InputError(f"a predicate must be a string, not {text!r}", hint='write it as text: "x = 1"')
    if len(text) > limits.length:
        raise LimitError("characters in a predicate", len(text), limits.length, hint="split it into several predicates")
    return Predicate(map(_filter, _Parser(text, limits).parse()))


def parse_filter(text: str, limits: Limits = DEFAULT_LIMITS) -> Filter:
    """Return the filter that a text says; a text that says several is an error."""
    filters = parse(text, limits).filters
    if len(filters) != 1:
        raise InputError(f"expected one filter, not {len(filters)}", hint="use parse() for a predicate")
    return filters[0]


class _Parser:
    """Recursive descent over the tokens; each method reads one rule of the grammar."""

    def __init__(self, text: str, limits: Limits) -> None:
        self._text = text
        self._limits = limits
        self._tokens, self._lexical_error = tokenize(text)
        self._next = 0
        self._depth = 0

    def parse(self) -> list[_Draft]:
        if len(self._tokens) == 1:
            raise self._error(
                "the predicate is empty", hint="write `true` to match every message, `false` to match none"
            )
        drafts = self._predicate()
        if self._peek().lexeme is not Lexeme.END or self._lexical_error:
            raise self._trailing()
        return drafts

    def _predicate(self) -> list[_Draft]:
        drafts = self._conjunction()
        size = sum(map(len, drafts))
        while self._accept("or"):
            more = self._conjunction()
            drafts += more
            size += sum(map(len, more))
            self._check_size(self._peek(), len(drafts), size)
        return drafts

    def _conjunction(self) -> list[_Draft]:
        first = self._peek()
        factors = [self._term()]
        while self._accept("and"):
            factors.append(self._term())
        return self._distribute(factors, first)

    def _distribute(self, factors: list[list[_Draft]], first: Token) -> list[_Draft]:
        """Multiply out a conjunction of disjunctions, unless the result would be too large."""
        if len(factors) == 1:
            return factors[0]
        count, size = 1, 0
        for factor in factors:
            count, size = count * len(factor), size * len(factor) + count * sum(map(len, factor))
            self._check_size(first, count, size)
        return [tuple(chain.from_iterable(choice)) for choice in product(*factors)]

    def _check_size(self, place: Token, filters: int, constraints: int) -> None:
        for what, count, limit in (
            ("filters in the normal form", filters, self._limits.filters),
            ("constraints in the normal form", constraints, self._limits.constraints),
        ):
            if count > limit:
                raise self._limit_error(place, what, count, limit, "give the interface several smaller predicates")

    def _term(self) -> list[_Draft]:
        token = self._peek()
        if token.lexeme is Lexeme.OPEN:
            return self._parenthesis()
        if token.lexeme is Lexeme.TAG:
            return [(self._tag(),)]
        if token.lexeme is Lexeme.VALUE and isinstance(token.meaning, bool):
            return self._constant()
        if self._accept("exists"):
            return [(Constraint(self._name(), Op.EXISTS),)]
        if token.text in ("not", "NOT", "!"):
            raise self._error("there is no negation", hint=negation_advice(self._tokens[self._next + 1 :][:4]))
        return [(self._constraint(),)]

    def _parenthesis(self) -> list[_Draft]:
        opening = self._take()
        self._depth += 1
        if self._depth > self._limits.nesting:
            raise self._limit_error(
                opening, "nested parentheses", self._depth, self._limits.nesting, "remove the needless ones"
            )
        drafts = self._predicate()
        if self._peek().lexeme is Lexeme.END:
            raise self._error("the parenthesis is not closed", opening, hint="write `)` at its end")
        if self._peek().lexeme is not Lexeme.CLOSE:
            raise self._trailing()
        self._take()
        self._depth -= 1
        return drafts

    def _constant(self) -> list[_Draft]:
        token = self._take()
        if self._peek().lexeme is Lexeme.OPERATOR:
            raise self._error(
                f"`{token.text}` is a keyword",
                token,
                hint=f"write `` `{token.text}` `` in backquotes to use it as a name",
            )
        return [()] if token.meaning else []

    def _tag(self) -> str:
        token = self._take()
        if self._peek().lexeme is Lexeme.OPERATOR:
            raise self._error("a tag has no value", hint=f"write `{token.text}` alone, or an attribute without `#`")
        return str(token.meaning)

    def _constraint(self) -> Constraint:
        name = self._name()
        op = self._operator()
        token = self._peek()
        if token.lexeme is not Lexeme.VALUE:
            raise self._error(
                "a value is missing" if token.lexeme is Lexeme.END else "expected a value",
                hint=value_advice(token),
            )
        self._take()
        if not takes(op, kind(token.meaning)):
            problem, hint = refusal(op, token.meaning)
            raise self._error(problem, token, hint=hint)
        return Constraint(name, op, token.meaning)

    def _name(self) -> str:
        token = self._peek()
        if token.lexeme is not Lexeme.NAME:
            problem = "the text ends too early" if token.lexeme is Lexeme.END else "expected a name"
            raise self._error(problem, hint=name_advice(self._tokens[self._next :][:3]))
        if token.meaning == RESERVED_NAME:
            raise self._error("the name `#` is reserved for tags", hint="write #name for a tag")
        return str(self._take().meaning)

    def _operator(self) -> Op:
        token = self._peek()
        if token.lexeme is not Lexeme.OPERATOR:
            problem = "an operator is missing" if token.lexeme is Lexeme.END else "expected an operator"
            raise self._error(problem, hint=after_name_advice(self._tokens[self._next - 1 :][:4]))
        if token.text not in _OPERATORS:
            raise self._error(f"unknown operator `{token.text}`", hint=operator_advice(token.text))
        return _OPERATORS[self._take().text]

    def _trailing(self) -> PredicateSyntaxError:
        """Return the error for a token that stands where a conjunction should go on or end."""
        token = self._peek()
        if token.lexeme is Lexeme.CLOSE:
            return self._error("the parenthesis was not opened", hint="remove `)`, or write `(` before")
        return self._error("expected `and`, `or` or the end", hint=trailing_advice(self._tokens[self._next - 3 :][:5]))

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def _accept(self, keyword: str) -> bool:
        token = self._peek()
        accepted = token.lexeme is Lexeme.KEYWORD and token.text == keyword
        self._next += accepted
        return accepted

    def _error(self, problem: str, token: Token | None = None, *, hint: str | None = None) -> PredicateSyntaxError:
        if self._lexical_error and self._peek().lexeme is Lexeme.END:
            return self._lexical_error
        token = token or self._peek()
        return PredicateSyntaxError(problem, self._text, token.position, length=len(token.text), hint=hint)

    def _limit_error(self, token: Token, what: str, count: int, limit: int, hint: str) -> InputError:
        place = PredicateSyntaxError("", self._text, token.position)
        return LimitError(what, count, limit, hint=hint).at(line=place.line, column=place.column)


def _filter(draft: _Draft) -> Filter:
    return Filter(_constraints(draft), [literal for literal in draft if isinstance(literal, str)])


def _constraints(draft: _Draft) -> Iterator[Constraint]:
    return (literal for literal in draft if isinstance(literal, Constraint))
