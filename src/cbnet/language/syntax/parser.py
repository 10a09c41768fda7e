"""Parser: what does the text of a predicate say? Written by hand, so that errors can help.

    predicate   = conjunction { "or" conjunction }
    conjunction = term { "and" term }
    term        = "(" predicate ")" | "exists" name | tag | name operator value | "true" | "false"

Parentheses are distributed into disjunctive normal form. Text, nesting and the normal form have
limits, checked before the work is done, and so has the work itself: no input makes the parser slow
or deep.
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
_JOINTS = frozenset({"&&", "&", "||", "|"})  # they join terms elsewhere, and are no operators of ours

# What is written while parentheses are distributed, over what may be left of it at the end. Text
# that multiplies out again and again what a `false` then drops is refused after about a second.
_WASTE = 100

# A conjunction that is being read: constraints, and tags as plain strings.
_Draft: TypeAlias = tuple[Constraint | str, ...]
_TRUE: list[_Draft] = [()]


def parse(text: str, limits: Limits = DEFAULT_LIMITS) -> Predicate:
    """Return the predicate that a text says."""
    validate_limits(limits).check_text(text)
    return Predicate(map(_filter, _Parser(text, limits).parse()))


def parse_filter(text: str, limits: Limits = DEFAULT_LIMITS) -> Filter:
    """Return the filter that a text says; a text that says several is an error."""
    filters = parse(text, limits).filters
    if len(filters) != 1:
        raise InputError(f"expected one filter, not {len(filters)}", hint="use parse() for a predicate")
    return filters[0]


@dataclass
class _Frame:
    """What has been read of one parenthesis, or of the whole text."""

    opening: Token
    first: Token  # of the conjunction that is being read
    alternatives: list[_Draft] = field(default_factory=list)
    factors: list[list[_Draft]] = field(default_factory=list)
    size: int = 0


class _Parser:
    """Reads the tokens once, with a stack of open parentheses of its own: the text may be nested deeply."""

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
            error = LimitError("nested parentheses", depth, self._limits.nesting, hint="remove the needless ones")
            raise self._placed(error, opening)
        self._frames.append(_Frame(opening, self._peek()))

    def _join(self) -> bool:
        """Read what stands after a term; return whether another term must follow."""
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
                raise self._error(
                    "the parenthesis is not closed", self._frames[-1].opening, hint="write `)` at its end"
                )
            elif self._lexical_error:
                raise self._lexical_error
            else:
                return False

    def _end_disjunction(self) -> list[_Draft]:
        self._end_conjunction()
        return self._frames.pop().alternatives

    def _end_conjunction(self) -> None:
        """Add the conjunction that has been read to its disjunction."""
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

    def _check_size(self, place: Token, filters: int, constraints: int) -> None:
        try:
            self._limits.check_size(filters, constraints)
        except LimitError as error:
            raise self._placed(error, place) from None

    def _count(self, place: Token, written: int) -> None:
        self._written += written
        limit = _WASTE * self._limits.constraints
        if self._written > limit:
            hint = "give the interface several smaller predicates"
            error = LimitError("constraints written to distribute parentheses", self._written, limit, hint=hint)
            raise self._placed(error, place)

    def _term(self) -> list[_Draft]:
        token = self._peek()
        if token.type is TokenType.TAG:
            return [(self._tag(),)]
        if token.type is TokenType.VALUE and isinstance(token.value, bool):
            return self._constant()
        if self._accept("exists"):
            return [(Constraint(self._name(), Op.EXISTS),)]
        if token.text in ("not", "!") or (token.text == "NOT" and not self._is_operator(1)):
            raise self._error("there is no negation", hint=negation_hint(self._tokens[self._next + 1 :][:4]))
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
            problem = "the text ends too early" if token.type is TokenType.END else "expected a name"
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
            raise self._error(f"unknown operator `{token.text}`", hint=operator_hint(token.text))
        return _OPERATORS[self._take().text]

    def _trailing(self) -> PredicateSyntaxError:
        """Return the error for a token that stands where a conjunction should go on or end."""
        token = self._peek()
        if token.type is TokenType.CLOSE:
            return self._error("the parenthesis was not opened", hint="remove `)`, or write `(` before")
        hint = trailing_hint(self._tokens[max(0, self._next - 3) : self._next], self._tokens[self._next :][:2])
        return self._error("expected `and`, `or` or the end", hint=hint)

    def _is_operator(self, ahead: int = 0) -> bool:
        token = self._tokens[self._next + ahead]
        return token.type is TokenType.OPERATOR and token.text not in _JOINTS

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

    def _placed(self, error: LimitError, token: Token) -> InputError:
        place = PredicateSyntaxError("", self._text, token.position)
        return error.at(line=place.line, column=place.column)


def _filter(draft: _Draft) -> Filter:
    constraints = (literal for literal in draft if isinstance(literal, Constraint))
    return Filter(constraints, [literal for literal in draft if isinstance(literal, str)])
