"""Conditions that are true, false or an error, as formulas [CESQL 1.0 §3.3, §3.4.2].

Each condition has two formulas: of the events for which it is true, and false. For all others it is an error, and an
event with an error does not pass. AND and OR evaluate from left to right and stop early, so an error on the
right counts only if the left does not decide. `a OR b` is NOT (NOT a AND NOT b), also in its errors.

            true                false
    a       Ta                  Fa
    NOT a   Fa                  Ta
    a AND b Ta and Tb           Fa, or Ta and Fb
    a XOR b Ta and Fb, or …     Ta and Tb, or …

`after_true` is any formula between Ta and (Ta or Fa), the shortest known: `Fa, or Ta and Fb` is `Fa, or after_true
and Fb` too. For a comparison of an attribute it is mostly that the attribute exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

from cbnet.errors import LimitError
from cbnet.language.condition import AddressTest, Comparison, Like, Membership, Presence, RegexTest, TagTest
from cbnet.language.constraint import Op
from cbnet.language.expression import Attribute, Constant, Expression, parts_of
from cbnet.language.formula import FALSE, TRUE, AllOf, AnyOf, Formula, Not

_MAX_GUARDS = 100_000  # formulas repeated in the alternatives of a chain
_TESTS = (Comparison, Like, RegexTest, Membership, Presence, AddressTest, TagTest)
_Maker: TypeAlias = Callable[[], Formula]


class Truth:
    """A condition. Each formula is made when it is needed: that of false may be much longer than that of true."""

    def __init__(self, true: _Maker, false: _Maker, after_true: _Maker, after_false: _Maker) -> None:
        self._makers = true, false, after_true, after_false

    @cached_property
    def true(self) -> Formula:
        """The events for which the condition is true."""
        return self._makers[0]()

    @cached_property
    def false(self) -> Formula:
        """The events for which the condition is false."""
        return self._makers[1]()

    @cached_property
    def after_true(self) -> Formula:
        """A formula between `true` and `true or false`."""
        return self._makers[2]()

    @cached_property
    def after_false(self) -> Formula:
        """A formula between `false` and `true or false`."""
        return self._makers[3]()

    def __invert__(self) -> Truth:
        return Truth(lambda: self.false, lambda: self.true, lambda: self.after_false, lambda: self.after_true)


def decided(true: Formula, false: Formula, evaluated: Formula | None = None) -> Truth:
    """Return a condition with known formulas. `evaluated` is that of `true or false`, if there is a short one."""
    after_true, after_false = (true, false) if evaluated is None else (evaluated, evaluated)
    return Truth(lambda: true, lambda: false, lambda: after_true, lambda: after_false)


def conjunction(parts: Sequence[Truth]) -> Truth:
    """Return a chain of AND."""
    return Truth(
        lambda: all_of(part.true for part in parts),
        lambda: any_of(_first_false(parts, (part.false for part in parts))),
        lambda: all_of(part.after_true for part in parts),
        lambda: _after_false(parts),
    )


def disjunction(parts: Sequence[Truth]) -> Truth:
    """Return a chain of OR."""
    return ~conjunction([~part for part in parts])


def exclusive(left: Truth, right: Truth) -> Truth:
    """Return XOR, which evaluates both sides."""
    true = any_of((all_of((left.true, right.false)), all_of((left.false, right.true))))
    false = any_of((all_of((left.true, right.true)), all_of((left.false, right.false))))
    return decided(true, false, all_of((known(left), known(right))))


def _first_false(parts: Sequence[Truth], falses: Iterable[Formula]) -> Iterator[Formula]:
    """Yield the alternatives of a false conjunction: each part is the first that is false."""
    before: Formula = TRUE
    count = 0
    for part, false in zip(parts, falses, strict=True):
        count += len(before.parts) if isinstance(before, AllOf) else 1
        if count > _MAX_GUARDS:
            hint = "split the expression into several rules"
            raise LimitError("conditions after resolving AND and OR", count, _MAX_GUARDS, hint=hint)
        yield all_of((before, false))
        before = all_of((before, part.after_true))


def _after_false(parts: Sequence[Truth]) -> Formula:
    guards = [_literals(each) for part in parts for each in (part.after_true, part.after_false)]
    first = guards[0]
    if first is not None and first == guards[1] and all(each is not None and each <= first for each in guards):
        return parts[0].after_true  # the others are evaluated wherever the first is
    return any_of(_first_false(parts, (*(part.false for part in parts[:-1]), parts[-1].after_false)))


def known(truth: Truth) -> Formula:
    """Return the formula of the events for which a condition is no error."""
    guard = _literals(truth.after_true)
    if guard is not None and guard == _literals(truth.after_false):
        return truth.after_true
    return any_of((truth.true, truth.false))


def any_of(formulas: Iterable[Formula]) -> Formula:
    """Return a disjunction without parts that are `false`; `true` if a part is."""
    parts = [part for part in formulas if not _is_false(part)]
    if any(isinstance(part, AllOf) and not part.parts for part in parts):
        return TRUE
    return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))


def all_of(formulas: Iterable[Formula]) -> Formula:
    """Return a conjunction without the guards that another test of it implies."""
    parts: list[Formula] = []
    for part in formulas:
        if _is_false(part):
            return FALSE
        parts += part.parts if isinstance(part, AllOf) and _literals(part) is not None else (part,)
    literals = dict.fromkeys(part for part in parts if _is_literal(part))
    needed = {each for literal in literals for each in _needed(literal)}
    kept = [part for part in literals if _guarded(part) not in needed]
    kept += [part for part in parts if not _is_literal(part)]
    return kept[0] if len(kept) == 1 else AllOf(tuple(kept))


def _guarded(part: Formula) -> Expression | None:
    """Return the expression of a guard, `exists x` or `e != null`."""
    if isinstance(part, Presence):
        return Attribute(part.name)
    is_guard = isinstance(part, Comparison) and part.op is Op.NE and part.right == Constant(None)
    return part.left if is_guard else None  # type: ignore[union-attr]


def _needed(literal: Formula) -> Iterator[Expression]:
    """Yield the expressions that have values where a literal holds; of a guard, only those inside its own."""
    test = literal.part if isinstance(literal, Not) else literal
    guarded = _guarded(literal)
    if guarded is not None:
        yield from _inside(guarded)
    elif isinstance(test, Comparison):
        yield from (test.left, *_inside(test.left), test.right, *_inside(test.right))
    elif isinstance(test, Like | RegexTest | Membership):
        yield from (test.operand, *_inside(test.operand))


def _inside(expression: Expression) -> Iterator[Expression]:
    for operand in parts_of(expression):
        yield operand
        yield from _inside(operand)


def _literals(formula: Formula) -> frozenset[Formula] | None:
    """Return the parts of a conjunction of literals, or None."""
    parts = formula.parts if isinstance(formula, AllOf) else (formula,)
    return frozenset(parts) if all(map(_is_literal, parts)) else None


def _is_literal(formula: Formula) -> bool:
    return isinstance(formula, _TESTS) or (isinstance(formula, Not) and isinstance(formula.part, _TESTS))


def _is_false(formula: Formula) -> bool:
    return isinstance(formula, AnyOf) and not formula.parts
