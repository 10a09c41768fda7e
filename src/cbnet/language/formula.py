"""Formulas: tests joined by and, or, not and is, and their disjunctive normal form.

Parsers build formulas; `normal_form` turns one into filters. Negation moves to the tests, by the laws of
three-valued logic: a test is then asked for a set of accepted outcomes (`condition.Outcome`).

    not (a and b)               a false, or b false
    (a or b) is not true        a not true, and b not true

A test of one attribute against constants becomes a constraint if it can, any other a condition. Limits on the
normal form and on the work are checked before the work is done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain, product
from typing import TypeAlias

from cbnet.errors import InputError, LimitError
from cbnet.language import like_pattern, regex
from cbnet.language.condition import (
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
    outcome,
)
from cbnet.language.constraint import OPPOSITE, Constraint, Op
from cbnet.language.expression import Attribute, Constant
from cbnet.language.filter import Filter
from cbnet.language.predicate import DEFAULT_LIMITS, Limits, Predicate

# Constraints written while distributing parentheses, per constraint allowed in the result. Text that
# repeatedly expands what a `false` then drops is refused after about a second.
_MAX_EXPANSION = 100


@dataclass(frozen=True, slots=True)
class AllOf:
    """A conjunction; without parts, `true`."""

    parts: tuple[Formula, ...]
    position: int | None = field(default=None, compare=False)  # in the text, for errors


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A disjunction; without parts, `false`."""

    parts: tuple[Formula, ...]
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """The negation: unknown stays unknown."""

    part: Formula


@dataclass(frozen=True, slots=True)
class Is:
    """A test of the outcome, which is never unknown itself."""

    part: Formula
    accepted: Outcome


Formula: TypeAlias = AllOf | AnyOf | Not | Is | Test
TRUE, FALSE = AllOf(()), AnyOf(())
NOT_TRUE = Outcome.FALSE | Outcome.UNKNOWN
NOT_FALSE = Outcome.TRUE | Outcome.UNKNOWN
_ALL = Outcome.TRUE | Outcome.FALSE | Outcome.UNKNOWN

# A conjunction under construction, with tags as plain strings; and a disjunction of them.
_Draft: TypeAlias = tuple[Constraint | Condition | str, ...]
_Drafts: TypeAlias = list[_Draft]


Locate: TypeAlias = Callable[[LimitError, int], InputError]  # adds a position to an error


def predicate_of(formula: Formula, limits: Limits = DEFAULT_LIMITS, locate: Locate | None = None) -> Predicate:
    """Return the predicate of a formula; raise an error if it exceeds the limits."""
    drafts = _NormalForm(limits, locate).of(formula)
    return Predicate(
        Filter(
            (part for part in draft if isinstance(part, Constraint)),
            [part for part in draft if isinstance(part, str)],
            (part for part in draft if isinstance(part, Condition)),
        )
        for draft in drafts
    )


def literal(test: Test, accepted: Outcome) -> Constraint | Condition | str | bool:
    """Return the simplest form of a test: a constraint, a tag, a condition, or whether it always holds."""
    if isinstance(test, Presence):
        return Constraint(test.name, Op.EXISTS) if accepted & Outcome.TRUE else Condition(test, Outcome.FALSE)
    if isinstance(test, TagTest):
        return test.tag if accepted & Outcome.TRUE else Condition(test, Outcome.FALSE)
    if all(isinstance(operand, Constant) for operand in operands_of(test)):
        return bool(outcome(test, {}) & accepted)
    if isinstance(test, Like | RegexTest):
        return _pattern(test, accepted)
    if isinstance(test, Membership):
        return _membership(test, accepted)
    if isinstance(test, AddressTest):
        return Condition(test, accepted)
    return _comparison(test, accepted)


class _NormalForm:
    """The conversion of one formula, with an explicit stack: nesting is not limited by Python's stack."""

    def __init__(self, limits: Limits, locate: Locate | None) -> None:
        self._limits = limits
        self._locate = locate
        self._written = 0

    def of(self, formula: Formula) -> _Drafts:
        todo: list[tuple[Formula, Outcome, bool]] = [(formula, Outcome.TRUE, False)]
        done: list[_Drafts] = []
        while todo:
            part, accepted, has_parts = todo.pop()
            if isinstance(part, Not):
                todo.append((part.part, swapped(accepted), False))
            elif isinstance(part, Is):
                inner = part.accepted if accepted & Outcome.TRUE else _ALL & ~part.accepted
                todo.append((part.part, inner, False))
            elif not isinstance(part, AllOf | AnyOf):
                found = literal(part, accepted)
                done.append(([()] if found else []) if isinstance(found, bool) else [(found,)])
            elif not has_parts:
                todo.append((part, accepted, True))
                todo.extend((inner, accepted, False) for inner in reversed(part.parts))
            else:
                first = len(done) - len(part.parts)
                is_conjunction = isinstance(part, AllOf) == bool(accepted & Outcome.TRUE)
                combine = self._conjunction if is_conjunction else self._disjunction
                done[first:] = [combine(done[first:], part.position)]
        return done[0]

    def _conjunction(self, factors: list[_Drafts], position: int | None) -> _Drafts:
        """Multiply out a conjunction of disjunctions, unless the result would be too large."""
        if not all(factors):
            return []  # a factor is `false`
        factors = [factor for factor in factors if factor != [()]]
        if len(factors) <= 1:
            return factors[0] if factors else [()]
        count, size = 1, 0
        for factor in factors:
            count, size = count * len(factor), size * len(factor) + count * sum(map(len, factor))
            self._check_size(count, size, position)
        self._count(size, position)
        return [tuple(chain.from_iterable(choice)) for choice in product(*factors)]

    def _disjunction(self, alternatives: list[_Drafts], position: int | None) -> _Drafts:
        drafts = list(chain.from_iterable(alternatives))
        self._count(len(drafts), position)
        self._check_size(len(drafts), sum(map(len, drafts)), position)
        return drafts

    def _check_size(self, filters: int, constraints: int, position: int | None) -> None:
        try:
            self._limits.check_size(filters, constraints)
        except LimitError as error:
            raise self._located(error, position) from None

    def _count(self, written: int, position: int | None) -> None:
        self._written += written
        limit = _MAX_EXPANSION * self._limits.constraints
        if self._written > limit:
            hint = "split it into several smaller predicates"
            error = LimitError("constraints after distributing parentheses", self._written, limit, hint=hint)
            raise self._located(error, position)

    def _located(self, error: LimitError, position: int | None) -> InputError:
        return error if self._locate is None or position is None else self._locate(error, position)


def swapped(accepted: Outcome) -> Outcome:
    """Return the outcomes of a test that its negation turns into the accepted ones."""
    swapped = accepted & Outcome.UNKNOWN
    swapped |= Outcome.FALSE if accepted & Outcome.TRUE else Outcome(0)
    return swapped | (Outcome.TRUE if accepted & Outcome.FALSE else Outcome(0))


def _comparison(test: Comparison, accepted: Outcome) -> Constraint | Condition:
    op, left, right = test.op, test.left, test.right
    if accepted == Outcome.FALSE and op in OPPOSITE:
        op, accepted = OPPOSITE[op], Outcome.TRUE
        is_true = isinstance(right, Constant) and right.value is True
        if op is Op.NE and is_true and isinstance(left, Attribute) and left.name.startswith("all "):
            op, right = Op.EQ, Constant(False)  # as tables write it: `not all items (…)`
    if isinstance(left, Constant) and op in MIRRORED:
        op, left, right = MIRRORED[op], right, left
    if accepted == Outcome.TRUE and isinstance(left, Attribute) and isinstance(right, Constant):
        return Constraint(left.name, op, right.value)
    return Condition(Comparison(op, left, right), accepted)


def _pattern(test: Like | RegexTest, accepted: Outcome) -> Constraint | Condition:
    simple = (like_pattern if isinstance(test, Like) else regex).equivalent(test.pattern)
    if simple is None:
        return Condition(test, accepted)
    op, text = simple
    return _comparison(Comparison(op, test.operand, Constant(text)), accepted)


def _membership(test: Membership, accepted: Outcome) -> Constraint | Condition:
    if len(test.values) == 1:
        return _comparison(Comparison(Op.EQ, test.operand, Constant(test.values[0])), accepted)
    if accepted == Outcome.TRUE and isinstance(test.operand, Attribute):
        return Constraint(test.operand.name, Op.IN, test.values)
    return Condition(test, accepted)


MIRRORED = {Op.LT: Op.GT, Op.GT: Op.LT, Op.LE: Op.GE, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE}
