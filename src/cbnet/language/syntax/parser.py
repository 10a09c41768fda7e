"""Parser for predicates, written by hand for precise errors.

    predicate   = conjunction { "or" conjunction }
    conjunction = factor { "and" factor }
    factor      = { "not" } ( "(" predicate ")" [ "is" [ "not" ] ( "true" | "false" ) ] | term )
    term        = "exists" name | "absent" name | tag | "true" | "false" | quantifier | comparison
    comparison  = expression ( operator expression | "=~" string | [ "not" ] ( "in" set | "in" block | "like" string ) )
    block       = "cidr" "(" string ")"

`syntax.expressions` reads expressions and sets, `syntax.quantifiers` tests of the items of arrays. The text becomes a
formula, and that its disjunctive normal form (`formula`). Limits are checked before the work is done: no input makes
the parser slow or exhausts the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cbnet.errors import InputError, LimitError, PredicateSyntaxError
from cbnet.language.address_block import block_of, block_text
from cbnet.language.condition import (
    MAX_CONDITION_LENGTH,
    AddressTest,
    Comparison,
    Condition,
    Like,
    Membership,
    Outcome,
    Presence,
    RegexTest,
    TagTest,
    Test,
    operands_of,
)
from cbnet.language.constraint import Op, refusal, takes
from cbnet.language.expression import Attribute, Constant, Expression, has_time
from cbnet.language.filter import Filter
from cbnet.language.formula import FALSE, NOT_FALSE, NOT_TRUE, TRUE, AllOf, AnyOf, Formula, Is, Not, predicate_of
from cbnet.language.like_pattern import validate_pattern
from cbnet.language.predicate import DEFAULT_LIMITS, Limits, Predicate, validate_limits
from cbnet.language.regex import validate_regex
from cbnet.language.syntax.hints import after_name_hint, name_hint, operator_hint, trailing_hint
from cbnet.language.syntax.lexer import Token, TokenType
from cbnet.language.syntax.quantifiers import MAX_QUANTIFIERS, Quantifier, QuantifierReader
from cbnet.language.values import value_type

_OPERATORS = {op.value: op for op in Op if op not in (Op.EXISTS, Op.IN)}
_CONDITION_LIMITS = Limits(length=MAX_CONDITION_LENGTH)
_OUTCOMES = {
    (True, True): Outcome.TRUE, (True, False): Outcome.FALSE, (False, True): NOT_TRUE, (False, False): NOT_FALSE,
}  # fmt: skip


def parse(text: str, limits: Limits = DEFAULT_LIMITS) -> Predicate:
    """Return the predicate of a text."""
    validate_limits(limits).check_text(text)
    parser = _Parser(text, limits)
    return predicate_of(parser.parse(), limits, parser.limit_error)


def parse_filter(text: str, limits: Limits = DEFAULT_LIMITS) -> Filter:
    """Return the filter of a text; several filters, or none, are an error."""
    filters = parse(text, limits).filters
    if len(filters) != 1:
        raise InputError(f"expected one filter, not {len(filters)}", hint="use parse() for a predicate")
    return filters[0]


def parse_condition(text: str) -> Condition:
    """Return the condition of a text; raise an error if the text is anything else."""
    filters = parse(text, _CONDITION_LIMITS).filters
    conditions = filters[0].conditions if len(filters) == 1 else ()
    if len(conditions) != 1 or filters[0].written_constraints or filters[0].tags:
        raise InputError(f"`{text[:60]}` is not a single condition", hint="write constraints as such")
    return conditions[0]


@dataclass
class _Frame:
    """The state of one open parenthesis, or of the whole text."""

    opening: Token
    wrap: Callable[[Formula], Formula]  # the negations before it, and the `is` after it
    alternatives: list[Formula] = field(default_factory=list)
    factors: list[Formula] = field(default_factory=list)
    first: int = 0  # the position of the current conjunction

    def end_conjunction(self) -> None:
        """Add the current conjunction to the alternatives."""
        parts = self.factors
        self.alternatives.append(parts[0] if len(parts) == 1 else AllOf(tuple(parts), self.first))
        self.factors = []

    def formula(self) -> Formula:
        """Return the formula inside."""
        self.end_conjunction()
        parts = self.alternatives
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts), self.opening.position)


def parse_quantifier(name: str) -> Quantifier | None:
    """Return the quantifier that is printed as a name; None if there is none."""
    try:
        quantifier = _Parser(name, DEFAULT_LIMITS).quantifier()
    except InputError:
        return None
    return quantifier if quantifier.name == name else None


class _Parser(QuantifierReader):
    """A parser of one pass, with its own stack of open parentheses: nesting is not limited by Python's stack."""

    def __init__(self, text: str, limits: Limits, tokens: list[Token] | None = None, quantifiers: int = 0) -> None:
        super().__init__(text, tokens)
        self._limits = limits
        self._quantifiers = quantifiers  # around this text
        self._frames = [_Frame(self._peek(), _same, first=self._peek().position)]

    def quantifier(self) -> Quantifier:
        """Return the quantifier that is the whole text."""
        if not self._begins_count() and not self._begins("all"):
            raise self._error("expected `all` or `count`")
        quantifier = self._quantifier()
        if self._peek().kind is not TokenType.END or self._lexical_error:
            raise self._trailing()
        return quantifier

    def _item_predicate(self, opening: int, closing: int) -> Predicate:
        if self._quantifiers == MAX_QUANTIFIERS:
            error = LimitError("quantifiers inside each other", MAX_QUANTIFIERS + 1, MAX_QUANTIFIERS)
            raise self.limit_error(error, self._tokens[opening].position)
        end = Token(TokenType.END, "", self._tokens[closing].position, "")
        tokens = [*self._tokens[opening + 1 : closing], end]
        inner = _Parser(self._text, self._limits, tokens, self._quantifiers + 1)
        return predicate_of(inner.parse(), self._limits, inner.limit_error)

    def parse(self) -> Formula:
        if len(self._tokens) == 1:
            raise self._error(
                "the predicate is empty", hint="write `true` to match every message, `false` to match none"
            )
        is_more = True
        while is_more:
            wrap = self._negations()
            if self._peek().kind is TokenType.OPEN and not self._is_expression_group():
                self._open(wrap)
            else:
                self._frames[-1].factors.append(wrap(self._term()))
                is_more = self._join()
        return self._frames.pop().formula()

    def _negations(self) -> Callable[[Formula], Formula]:
        is_negated = False
        while self._peek().text == "not" and not self._is_operator(1):
            self._take()
            is_negated = not is_negated
        if self._peek().text in ("NOT", "!") and not self._is_operator(1):
            raise self._error(f"unexpected `{self._peek().text}`", hint="write `not`")
        return Not if is_negated else _same

    def _open(self, outer: Callable[[Formula], Formula]) -> None:
        opening = self._take()
        depth = len(self._frames)
        if depth > self._limits.nesting:
            error = LimitError("nested parentheses", depth, self._limits.nesting, hint="remove redundant ones")
            raise self.limit_error(error, opening.position)
        self._frames.append(_Frame(opening, outer, first=self._peek().position))

    def _join(self) -> bool:
        """Read what follows a term; return whether another term must come next."""
        while True:
            frame = self._frames[-1]
            if self._accept("and"):
                return True
            if self._accept("or"):
                frame.end_conjunction()
                frame.first = self._peek().position
                return True
            token = self._peek()
            if token.kind is TokenType.CLOSE and len(self._frames) > 1:
                self._take()
                self._frames.pop()
                self._frames[-1].factors.append(frame.wrap(self._is(frame.formula())))
            elif token.kind is not TokenType.END:
                raise self._trailing()
            elif len(self._frames) > 1:
                raise self._error("unclosed parenthesis", frame.opening, hint="write `)` at its end")
            elif self._lexical_error:
                raise self._lexical_error
            else:
                return False

    def _is(self, formula: Formula) -> Formula:
        """Read `is not true` and the like after a parenthesis."""
        if self._peek().text != "is":
            return formula
        self._take()
        is_positive = not self._accept("not")
        token = self._peek()
        if not isinstance(token.value, bool):
            raise self._error("expected `true` or `false`", hint="write `(…) is not true` or `(…) is not false`")
        self._take()
        return Is(formula, _OUTCOMES[is_positive, token.value])

    def _term(self) -> Formula:
        token = self._peek()
        if token.kind is TokenType.TAG:
            return self._tag()
        if isinstance(token.value, bool) and not self._continues_operand(self._next + 1):
            return TRUE if self._take().value else FALSE
        if self._accept("exists"):
            return Presence(self._name())
        if token.text == "absent" and self._tokens[self._next + 1].kind is TokenType.NAME:
            self._take()
            return Not(Presence(self._name()))
        if self._begins("none"):
            return Comparison(Op.EQ, Attribute(self._none()), Constant(0))
        closing = self._closings.get(self._next + 2) if self._begins("all") else None
        if closing is not None and not self._continues_operand(closing + 1):
            return Comparison(Op.EQ, Attribute(self._name()), Constant(True))
        first = self._next
        test = self._comparison()
        self._check_durations(self._outer_tokens(first), test)
        return test

    def _check_durations(self, tokens: list[Token], test: Formula) -> None:
        """Raise an error if a test has a duration but no time: its numbers may have any unit."""
        test = test.part if isinstance(test, Not) else test
        durations = (token for token in tokens if type(token.value) is int and not token.text[-1].isdigit())
        token = next(durations, None)
        if token is not None and not any(map(has_time, operands_of(test))):  # type: ignore[arg-type]
            hint = "write `time(a) - time(b) > 3d` for times, else the number alone"
            raise self._error(f"the duration `{token.text}` is compared with no time", token, hint=hint)

    def _tag(self) -> Formula:
        token = self._take()
        if self._is_operator():
            raise self._error("a tag has no value", hint=f"write `{token.text}` alone, or an attribute without `#`")
        return TagTest(str(token.value))

    def _comparison(self) -> Formula:
        first = self._next
        left = self._left_operand()
        start = self._peek()
        is_negated = start.text == "not" and self._tokens[self._next + 1].text in ("in", "like")
        if is_negated:
            self._take()
        if self._peek().text in ("in", "like"):
            test = self._member_test(left) if self._take().text == "in" else Like(left, self._pattern())
            self._check_name(first, left)
            return Not(test) if is_negated else test
        if self._peek().text == "=~":
            self._take()
            test = RegexTest(left, self._regex())
            self._check_name(first, left)
            return test
        op = self._operator(first)
        token = self._peek()
        right = self._right_operand()
        for operand in (left, right):
            if isinstance(operand, Constant) and not takes(op, value_type(operand.value)):
                problem, hint = refusal(op, operand.value)
                raise self._error(problem, token, hint=hint)
        if isinstance(right, Constant):
            self._check_name(first, left)
        return Comparison(op, left, right)

    def _check_name(self, first: int, left: Expression) -> None:
        """Raise an error if a test of constants begins with a string in quotes: a name was meant."""
        token = self._tokens[first]
        if isinstance(left, Constant) and token.kind is TokenType.VALUE and isinstance(token.value, str):
            raise self._error("expected a name", token, hint=name_hint(self._tokens[first:][:3]))

    def _member_test(self, operand: Expression) -> Test:
        """Read what follows `in`."""
        if self._peek().text != "cidr" or self._tokens[self._next + 1].kind is not TokenType.OPEN:
            return Membership(operand, self._set())
        self._next += 2
        token = self._peek()
        if not isinstance(token.value, str) or token.kind is not TokenType.VALUE:
            raise self._error("expected a block of addresses", hint='write cidr("10.0.0.0/8")')
        block = self.located(token, block_of, token.value)
        self._take()
        if self._peek().kind is not TokenType.CLOSE:
            raise self._error("expected `)`", hint="write one block; join several tests with `or`")
        self._take()
        return AddressTest(operand, block_text(block))

    def _pattern(self) -> str:
        token = self._peek()
        if token.kind is not TokenType.VALUE or not isinstance(token.value, str):
            raise self._error("expected a pattern", hint='write a string with % and _, as in "a%"')
        self._take()
        return self.located(token, validate_pattern, token.value)

    def _regex(self) -> str:
        token = self._peek()
        if token.kind is not TokenType.VALUE or not isinstance(token.value, str):
            raise self._error("expected a regular expression", hint='write it in quotes, as in "^a.*z$"')
        self._take()
        return self.located(token, validate_regex, token.value)

    def _operator(self, first: int) -> Op:
        """Read an operator; `first` is the token that begins the operand before it."""
        token = self._peek()
        if token.kind is not TokenType.OPERATOR:
            problem = "an operator is missing" if token.kind is TokenType.END else "expected an operator"
            raise self._error(problem, hint=after_name_hint(self._tokens[max(first, self._next - 1) :][:4]))
        if token.text not in _OPERATORS:
            raise self._error(
                f"unknown operator `{token.text}`", hint=operator_hint(self._tokens[self._next - 1 :][:3])
            )
        return _OPERATORS[self._take().text]

    def _trailing(self) -> PredicateSyntaxError:
        """Return the error for a token where `and`, `or` or the end is expected."""
        token = self._peek()
        if token.kind is TokenType.CLOSE:
            return self._error("unmatched `)`", hint="remove it, or write `(` before")
        if token.kind is TokenType.COMMA:
            return self._error("unexpected comma", hint="write `and`")
        hint = trailing_hint(self._tokens[max(0, self._next - 3) : self._next], self._tokens[self._next :][:2])
        return self._error("expected `and`, `or` or the end", hint=hint)


def _same(formula: Formula) -> Formula:
    return formula
