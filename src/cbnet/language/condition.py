"""Conditions: the tests of a filter that no index serves.

A test is true, false or unknown: an attribute is missing, or operands have different types. A condition
is a test with the outcomes that it accepts:

    price * quantity > 100                  true
    not (name ^= "a")                       false
    (name ^= "a") is not true               false or unknown
    (name ^= "a") is not false              true or unknown

`and`, `or` and `not` are not needed inside: the parser moves them outside [Kleene's three-valued logic].
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntFlag
from typing import Any, TypeAlias

from cbnet._kernels import regex_search
from cbnet.errors import LimitError
from cbnet.language import like_pattern, regex
from cbnet.language.address_block import block_contains, block_of, common_prefix
from cbnet.language.constraint import ORDERING, PATTERNS, TESTS, Constraint, Op, Values, format_set
from cbnet.language.expression import (
    UNKNOWN,
    Attribute,
    Constant,
    Expression,
    Missing,
    check_expression_depth,
    evaluate,
    format_beside,
    names,
)
from cbnet.language.like_pattern import like
from cbnet.language.regex import compiled
from cbnet.language.value_object import ValueObject
from cbnet.language.values import Value, ValueType, format_name, format_tag, format_value, sort_key, value_type

_NULL = Constant(None)
MAX_CONDITION_LENGTH = 16_384  # characters of its text


class Outcome(IntFlag):
    """Outcomes of a test."""

    TRUE = 1
    FALSE = 2
    UNKNOWN = 4


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two expressions."""

    op: Op
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"{format_beside(self.left, self.right)} {self.op} {format_beside(self.right, self.left)}"


@dataclass(frozen=True, slots=True)
class Like:
    """A comparison of a string with a pattern."""

    operand: Expression
    pattern: str

    def __str__(self) -> str:
        return f"{self.operand} like {format_value(self.pattern)}"


@dataclass(frozen=True, slots=True)
class RegexTest:
    """A test whether a regular expression occurs in a string."""

    operand: Expression
    pattern: str
    program: bytes = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "program", compiled(self.pattern))

    @property
    def steps(self) -> int:
        """The steps of the program: a search takes at most as many for each character."""
        return int.from_bytes(self.program[:4], "little")

    def __str__(self) -> str:
        return f"{self.operand} =~ {format_value(self.pattern)}"


@dataclass(frozen=True, slots=True)
class Membership:
    """A test whether a set of constants contains a value."""

    operand: Expression
    values: Values  # sorted

    def __str__(self) -> str:
        return f"{self.operand} in {format_set(self.values)}"


@dataclass(frozen=True, slots=True)
class AddressTest:
    """A test whether a string is an IP address of a block. It is unknown if the string is not an address."""

    operand: Expression
    block: str  # canonical

    def __str__(self) -> str:
        return f"{self.operand} in cidr({format_value(self.block)})"


@dataclass(frozen=True, slots=True)
class Presence:
    """A test whether the message has a value of an attribute. It is never unknown."""

    name: str

    def __str__(self) -> str:
        return f"exists {format_name(self.name)}"


@dataclass(frozen=True, slots=True)
class TagTest:
    """A test whether the message has a tag. It is never unknown."""

    tag: str

    def __str__(self) -> str:
        return format_tag(self.tag)


OperandTest: TypeAlias = Comparison | Like | RegexTest | Membership | AddressTest
Test: TypeAlias = OperandTest | Presence | TagTest


class Condition(ValueObject):
    """An immutable test with the outcomes that it accepts."""

    __slots__ = ("_implied", "accepted", "test", "text")
    _family = "condition"
    test: Test
    accepted: Outcome
    text: str
    _implied: tuple[Constraint, ...]

    def __init__(self, test: Test, accepted: Outcome = Outcome.TRUE) -> None:
        for operand in operands_of(test):
            check_expression_depth(operand)
        text = _format(test, accepted)
        if len(text) > MAX_CONDITION_LENGTH:
            raise LimitError("characters in a condition", len(text), MAX_CONDITION_LENGTH, hint="shorten it")
        self._set(test=test, accepted=accepted, text=text)

    @property
    def names(self) -> frozenset[str]:
        """The attributes whose values the condition tests."""
        return frozenset(name for operand in operands_of(self.test) for name in names(operand))

    @property
    def implied(self) -> tuple[Constraint, ...]:
        """Constraints that hold wherever the condition holds."""
        try:
            return self._implied
        except AttributeError:  # a filter needs them several times, and they take longer than all else of it
            self._set(_implied=tuple(self._implications()))
            return self._implied

    def _implications(self) -> Iterator[Constraint]:
        if Outcome.UNKNOWN in self.accepted or isinstance(self.test, Presence | TagTest):
            return
        test = self.test
        if (
            isinstance(test, Like | RegexTest | AddressTest)
            and isinstance(test.operand, Attribute)
            and self.accepted == Outcome.TRUE
        ):
            for op, text in _implied_tests(test):
                yield Constraint(test.operand.name, op, text)
        for name in sorted(self.names):
            yield Constraint(name, Op.EXISTS)

    def holds(self, values: Mapping[str, Value], present: Container[str] = (), tags: Container[str] = ()) -> bool:
        """Return whether the condition holds.

        values: the value of each attribute that has one.
        present, tags: all attributes and tags of the message.
        """
        return self.outcome(values, present, tags) in self.accepted

    def outcome(self, values: Mapping[str, Value], present: Container[str], tags: Container[str]) -> Outcome:
        """Return the outcome of the test."""
        test = self.test
        if isinstance(test, Presence | TagTest):
            is_met = test.name in present if isinstance(test, Presence) else test.tag in tags
            return Outcome.TRUE if is_met else Outcome.FALSE
        return outcome(test, values)

    def __reduce__(self) -> tuple[Any, ...]:
        return Condition, (self.test, self.accepted)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"parse_condition({self.text!r})"

    def _make_key(self) -> tuple[Any, ...]:
        return (self.text,)


def outcome(test: OperandTest, values: Mapping[str, Value]) -> Outcome:
    """Return the outcome of a test of expressions, from the values of the attributes."""
    if isinstance(test, Comparison):
        result: bool | Missing | None = _compare(test, values)
    else:
        value = evaluate(test.operand, values)
        if isinstance(test, Membership):
            result = _is_member(value, test.values)
        elif not isinstance(value, str):
            result = UNKNOWN
        elif isinstance(test, Like):
            result = like(value, test.pattern)
        elif isinstance(test, RegexTest):
            result = regex_search.occurs(test.program, value)
        else:
            result = block_contains(block_of(test.block), value)
    return Outcome.UNKNOWN if not isinstance(result, bool) else Outcome.TRUE if result else Outcome.FALSE


def _compare(test: Comparison, values: Mapping[str, Value]) -> bool | Missing:
    """Return the outcome of a comparison; `=` and `!=` with the constant null are defined for all types."""
    op, left, right = test.op, evaluate(test.left, values), evaluate(test.right, values)
    if isinstance(left, Missing) or isinstance(right, Missing):
        return UNKNOWN
    if op in (Op.EQ, Op.NE) and (test.left == _NULL or test.right == _NULL):
        return (left is right) == (op is Op.EQ)
    kind = value_type(left)
    if (
        kind is not value_type(right)
        or (op in PATTERNS and kind is not ValueType.STRING)
        or (op in ORDERING and kind not in (ValueType.NUMBER, ValueType.STRING))
    ):
        return UNKNOWN
    return TESTS[op](left, right)


def _is_member(value: Value | Missing, members: Values) -> bool | Missing:
    if isinstance(value, Missing):
        return UNKNOWN
    key = sort_key(value)
    keys = [sort_key(member) for member in members]
    if key in keys:
        return True
    has_kind = any(kind is key[0] for kind, _ in keys)
    return False if has_kind else UNKNOWN


def _implied_tests(test: Like | RegexTest | AddressTest) -> list[tuple[Op, str]]:
    if not isinstance(test, AddressTest):
        return like_pattern.implied(test.pattern) if isinstance(test, Like) else regex.implied(test.pattern)
    prefix = common_prefix(block_of(test.block))
    return [(Op.PREFIX, prefix)] if prefix else []


def operands_of(test: Test) -> tuple[Expression, ...]:
    """Return the expressions of a test."""
    if isinstance(test, Comparison):
        return test.left, test.right
    return () if isinstance(test, Presence | TagTest) else (test.operand,)


def _format(test: Test, accepted: Outcome) -> str:
    if isinstance(test, Presence):
        return str(test) if Outcome.TRUE in accepted else f"absent {format_name(test.name)}"
    if accepted == Outcome.TRUE:
        return str(test)
    if accepted != Outcome.FALSE:
        return f"({test}) is not {'true' if accepted & Outcome.FALSE else 'false'}"
    if isinstance(test, Like | Membership | AddressTest):
        return f"{test.operand} not{str(test)[len(str(test.operand)) :]}"
    return f"not {test}" if isinstance(test, TagTest) else f"not ({test})"
