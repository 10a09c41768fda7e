"""Parser for predicates, written by hand for precise errors.

    predicate   = conjunction { "or" conjunction }
    conjunction = term { "and" term }
    term        = "(" predicate ")" | "exists" name | tag | name operator value | "true" | "false"

Parentheses are distributed into disjunctive normal form. Limits on text, nesting, normal form and work
are checked before the work is done: no input makes the parser slow or exhausts the stack.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, product
from typing import TypeAlias

from cbnet.errors import InputError, LimitError, PredicateSyntaxError
from cbnet.language.constraint import Constraint, Op, refusal, takes
from cbnet.language.filter import Filter
from cbnet.language.limits import DEFAULT_LIMITS, Limits, validate_limits
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.hints import (
    after_name_hint,
    name_hint,
    negation_hint,
    operator_hint,
    trailing_hint,
    value_hint,
)
from cbnet.language.syntax.lexer import Token, TokenType, tokenize
from cbnet.language.values import RESERVED_NAME, value_type

_OPERATORS = {op.value: op for op in Op if op is not Op.EXISTS}
_FOREIGN_CONNECTIVES = frozenset({"&&", "&", "||", "|"})  # of other languages: they join constraints

# Constraints written while distributing parentheses, per constraint allowed in the result. Text that
# repeatedly expands what a `false` then drops is refused after about a second.
_MAX_EXPANSION = 100

# An unfinished conjunction: constraints, and tags as plain strings.
_Draft: TypeAlias = tuple[Constraint | str, ...]
_TRUE: list[_Draft] = [()]


def parse(text: str, limits: Limits = DEFAULT_LIMITS) -> Predicate:
    """Return the predicate of a text."""
    validate_limits(limits).check_text(text)
    return Predicate(map(_filter, _Parser(text, limits).parse()))


def parse_filter(text: str, limits: Limits = DEFAULT_LIMITS) -> Filter:
    """Return the filter of a text; several filters, or none, are an error."""
    filters = parse(text, limits).filters
    if len(filters) != 1:
        raise InputError(f"expected one filter, not {len(filters)}", hint="use parse() for a predicate")
    return filters[0]


@dataclass
class _Frame:
    """The state of one open parenthesis, or of the whole text."""

    opening: Token
    first: Token  # of the current conjunction
    alternatives: list[_Draft] = field(default_factory=list)
    factors: list[list[_Draft]] = field(default_factory=list)
    size: int = 0


class _Parser:
    """A parser of one pass, with its own stack of open parentheses: nesting is not limited by Python's stack."""

    def __init__(self, text: str, limits: Limits) -> None:
        self._text = text
        self._limits = limits
        self._tokens, self._lexical_error = tokenize(text)
        self._next = 0
        self._written = 0
        self._frames = [_Frame(self._peek(), self._peek())]

    def parse(self) -> list[_Draft]:
        if len(self._tokens) == 1:
            raise self._error(
                "the predicate is empty", hint="write `true` to match every message, `false` to match none"
            )
        is_more = True
        while is_more:
            if self._peek().type is TokenType.OPEN:
                self._open()
            else:
                self._frames[-1].factors.append(self._term())
                is_more = self._join()
        return self._end_disjunction()

    def _open(self) -> None:
        opening = self._take()
        depth = len(self._frames)
        if depth > self._limits.nesting:
            error = LimitError("nested parentheses", depth, self._limits.nesting, hint="remove redundant ones")
            raise self._located(error, opening)
        self._frames.append(_Frame(opening, self._peek()))

    def _join(self) -> bool:
        """Read what follows a term; return whether another term must come next."""
        while True:
            if self._accept("and"):
                return True
            if self._accept("or"):
                self._end_conjunction()
                self._frames[-1].first = self._peek()
                return True
            token = self._peek()
            if token.type is TokenType.CLOSE and len(self._frames) > 1:
                self._take()
                alternatives = self._end_disjunction()
                self._frames[-1].factors.append(alternatives)
            elif token.type is not TokenType.END:
                raise self._trailing()
            elif len(self._frames) > 1:
                raise self._error("unclosed parenthesis", self._frames[-1].opening, hint="write `)` at its end")
            elif self._lexical_error:
                raise self._lexical_error
            else:
                return False

    def _end_disjunction(self) -> list[_Draft]:
        self._end_conjunction()
        return self._frames.pop().alternatives

    def _end_conjunction(self) -> None:
        """Add the current conjunction to its disjunction."""
        frame = self._frames[-1]
        drafts = self._distributed(frame.factors, frame.first)
        self._count(frame.first, len(drafts))
        frame.factors = []
        frame.size += sum(map(len, drafts))
        if frame.alternatives:
            self._check_size(self._peek(), len(frame.alternatives) + len(drafts), frame.size)
            frame.alternatives += drafts
        else:
            frame.alternatives = drafts

    def _distributed(self, factors: list[list[_Draft]], first: Token) -> list[_Draft]:
        """Multiply out a conjunction of disjunctions, unless the result would be too large."""
        if not all(factors):
            return []  # a factor is `false`
        factors = [factor for factor in factors if factor != _TRUE]
        if len(factors) <= 1:
            return factors[0] if factors else [()]
        count, size = 1, 0
        for factor in factors:
            count, size = count * len(factor), size * len(factor) + count * sum(map(len, factor))
            self._check_size(first, count, size)
        self._count(first, size)
        return [tuple(chain.from_iterable(choice)) for choice in product(*factors)]

    def _check_size(self, token: Token, filters: int, constraints: int) -> None:
        try:
            self._limits.check_size(filters, constraints)
        except LimitError as error:
            raise self._located(error, token) from None

    def _count(self, token: Token, written: int) -> None:
        self._written += written
        limit = _MAX_EXPANSION * self._limits.constraints
        if self._written > limit:
            hint = "split it into several smaller predicates"
            error = LimitError("constraints after distributing parentheses", self._written, limit, hint=hint)
            raise self._located(error, token)

    def _term(self) -> list[_Draft]:
        token = self._peek()
        if token.type is TokenType.TAG:
            return [(self._tag(),)]
        if token.type is TokenType.VALUE and isinstance(token.value, bool):
            return self._constant()
        if self._accept("exists"):
            return [(Constraint(self._name(), Op.EXISTS),)]
        if token.text in ("not", "!") or (token.text == "NOT" and not self._is_operator(1)):
            raise self._error("negation is not supported", hint=negation_hint(self._tokens[self._next + 1 :][:4]))
        return [(self._constraint(),)]

    def _constant(self) -> list[_Draft]:
        token = self._take()
        if self._is_operator():
            raise self._error(
                f"`{token.text}` is a keyword",
                token,
                hint=f"write `` `{token.text}` `` in backquotes to use it as a name",
            )
        return [()] if token.value else []

    def _tag(self) -> str:
        token = self._take()
        if self._is_operator():
            raise self._error("a tag has no value", hint=f"write `{token.text}` alone, or an attribute without `#`")
        return str(token.value)

    def _constraint(self) -> Constraint:
        name = self._name()
        op = self._operator()
        token = self._peek()
        if token.type is not TokenType.VALUE:
            raise self._error(
                "a value is missing" if token.type is TokenType.END else "expected a value",
                hint=value_hint(token),
            )
        self._take()
        if not takes(op, value_type(token.value)):
            problem, hint = refusal(op, token.value)
            raise self._error(problem, token, hint=hint)
        return Constraint(name, op, token.value)

    def _name(self) -> str:
        token = self._peek()
        if token.type is not TokenType.NAME:
            problem = "unexpected end of text" if token.type is TokenType.END else "expected a name"
            raise self._error(problem, hint=name_hint(self._tokens[self._next :][:3]))
        if token.value == RESERVED_NAME:
            raise self._error("the name `#` is reserved for tags", hint="write #name for a tag")
        return str(self._take().value)

    def _operator(self) -> Op:
        token = self._peek()
        if token.type is not TokenType.OPERATOR:
            problem = "an operator is missing" if token.type is TokenType.END else "expected an operator"
            raise self._error(problem, hint=after_name_hint(self._tokens[self._next - 1 :][:4]))
        if token.text not in _OPERATORS:
            raise self._error(
                f"unknown operator `{token.text}`", hint=operator_hint(self._tokens[self._next - 1 :][:3])
            )
        return _OPERATORS[self._take().text]

    def _trailing(self) -> PredicateSyntaxError:
        """Return the error for a token where `and`, `or` or the end is expected."""
        token = self._peek()
        if token.type is TokenType.CLOSE:
            return self._error("unmatched `)`", hint="remove it, or write `(` before")
        hint = trailing_hint(self._tokens[max(0, self._next - 3) : self._next], self._tokens[self._next :][:2])
        return self._error("expected `and`, `or` or the end", hint=hint)

    def _is_operator(self, ahead: int = 0) -> bool:
        token = self._tokens[self._next + ahead]
        return token.type is TokenType.OPERATOR and token.text not in _FOREIGN_CONNECTIVES

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def _accept(self, keyword: str) -> bool:
        token = self._peek()
        accepted = token.type is TokenType.KEYWORD and token.text == keyword
        self._next += accepted
        return accepted

    def _error(self, problem: str, token: Token | None = None, *, hint: str | None = None) -> PredicateSyntaxError:
        if self._lexical_error and self._peek().type is TokenType.END:
            return self._lexical_error
        token = token or self._peek()
        return PredicateSyntaxError(problem, self._text, token.position, length=len(token.text), hint=hint)

    def _located(self, error: LimitError, token: Token) -> InputError:
        location = PredicateSyntaxError("", self._text, token.position)
        return error.at(line=location.line, column=location.column)


def _filter(draft: _Draft) -> Filter:
    constraints = (part for part in draft if isinstance(part, Constraint))
    return Filter(constraints, [part for part in draft if isinstance(part, str)])
