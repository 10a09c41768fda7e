"""Explanations: the filter that a message matches, or the filters that came closest.

A failure is a constraint, tag or condition that no value of the message satisfies. Where each is satisfied by some
value, and no values satisfy all together, the failure is the whole filter. Where there are too many combinations of
values to examine, it is undecided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cbnet.errors import UndecidedError
from cbnet.language.condition import Condition, Outcome, Presence, TagTest, operands_of
from cbnet.language.constraint import Constraint, Op
from cbnet.language.expression import Constant, Expression, Missing, evaluate, format_beside, names
from cbnet.language.filter import Filter
from cbnet.language.message import Leaf, Message
from cbnet.language.predicate import Predicate
from cbnet.language.search_budget import MAX_EXAMINED
from cbnet.language.values import Value, ValueType, format_name, format_tag, format_value, value_type
from cbnet.matching.rule import RuleName

_SHOWN = 3  # closest filters printed, where several are equally close
_MAX_VALUES = 5  # of one attribute
_TOO_MANY = f"there are more than {MAX_EXAMINED:,} combinations of values to examine"


@dataclass(frozen=True)
class Failure:
    """A part of a filter that a message does not satisfy, and the reason."""

    required: Constraint | Condition | Filter | str  # a string is a tag; a filter fails as a whole
    reason: str
    is_undecided: bool = False

    def __str__(self) -> str:
        if isinstance(self.required, Filter):
            return self.reason
        required = format_tag(self.required) if isinstance(self.required, str) else self.required
        return f"{required} {'is undecided' if self.is_undecided else 'fails'}: {self.reason}"


@dataclass(frozen=True)
class NearMiss:
    """A filter that nearly matched, and its failures."""

    filter: Filter
    failures: tuple[Failure, ...]

    def __str__(self) -> str:
        return f"{self.filter}: " + "; ".join(map(str, self.failures))


@dataclass(frozen=True)
class Explanation:
    """The filter that matched, or the filters with the fewest failures."""

    rule: RuleName
    filter: Filter | None
    near_misses: tuple[NearMiss, ...] = ()

    @property
    def matched(self) -> bool:
        """Return whether the message matches the rule."""
        return self.filter is not None

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        closest = [
            {"filter": str(near_miss.filter), "failures": [*map(str, near_miss.failures)]}
            for near_miss in self.near_misses
        ]
        matched_by = None if self.filter is None else str(self.filter)
        return {"rule": self.rule, "filter": matched_by, "closest": closest}

    def __str__(self) -> str:
        rule = self.rule if str(self.rule).isprintable() else repr(self.rule)
        if self.filter is not None:
            return f"{rule}: matched by {self.filter}"
        if not self.near_misses:
            return f"{rule}: no match; its predicate is empty"
        shown = [f"  {near_miss}" for near_miss in self.near_misses[:_SHOWN]]
        more = len(self.near_misses) - _SHOWN
        rest = [f"  … and {more} more as close"] if more > 0 else []
        return "\n".join([f"{rule}: no match; closest:", *shown, *rest])


def explain(message: Message, rule: RuleName, predicate: Predicate) -> Explanation:
    """Return which filter of the predicate the message matches, or why it matches none."""
    near_misses = [NearMiss(filter, tuple(_failures(filter, message))) for filter in predicate.filters]
    for near_miss in near_misses:
        if not near_miss.failures:
            return Explanation(rule, near_miss.filter)
    fewest = min((len(near_miss.failures) for near_miss in near_misses), default=0)
    closest = [near_miss for near_miss in near_misses if len(near_miss.failures) == fewest]
    return Explanation(rule, None, tuple(closest))


def _failures(filter: Filter, message: Message) -> Iterator[Failure]:
    failed = False
    for constraint in filter.written_constraints:
        try:
            if not Filter([constraint]).matches(message):
                failed = True
                yield Failure(constraint, _constraint_reason(constraint, message))
        except UndecidedError:
            failed = True
            yield Failure(constraint, _TOO_MANY, is_undecided=True)
    for condition in filter.conditions:
        try:
            if not Filter(conditions=[condition]).matches(message):
                failed = True
                yield Failure(condition, _condition_reason(condition, message))
        except UndecidedError:
            failed = True
            yield Failure(condition, _TOO_MANY, is_undecided=True)
    for tag in sorted(filter.tags - message.tags):
        failed = True
        yield Failure(tag, "the tag is missing")
    try:
        if not failed and not filter.matches(message):
            yield Failure(filter, _joint_reason(filter, message))
    except UndecidedError:
        yield Failure(filter, f"undecided: {_TOO_MANY}", is_undecided=True)


def _constraint_reason(constraint: Constraint, message: Message) -> str:
    found = message.leaves_of(constraint.name)
    if not found and (reason := _container_reason(constraint.name, message)):
        return reason
    is_value = f"{format_name(constraint.name)} is {_format_values(found)}"
    kinds = {value_type(leaf.value) for leaf in found}
    is_compared = constraint.op is not Op.IN and constraint.kind not in (None, ValueType.NULL)
    if len(kinds) == 1 and is_compared and constraint.kind not in kinds and ValueType.NULL not in kinds:
        return f"{is_value}, a {kinds.pop()} and not a {constraint.kind}"
    return is_value


def _container_reason(name: str, message: Message) -> str | None:
    """Return why an attribute is no value though the message has it: it is an object or an array of objects."""
    member = next((other for other in message.leaves if other.startswith(f"{name}.")), None)
    if count := message.values(f"count({format_name(name)})"):
        example = "" if member is None else f", or an item such as {format_name(f'{name}[0]{member[len(name) :]}')}"
        return (
            f"{format_name(name)} is an array of objects; test count({format_name(name)}), which is {count[0]}{example}"
        )
    return member and f"{format_name(name)} is an object; test a member such as {format_name(member)}"


def _condition_reason(condition: Condition, message: Message) -> str:
    test = condition.test
    if isinstance(test, Presence):
        return f"{format_name(test.name)} is {_format_values(message.leaves_of(test.name))}"
    if isinstance(test, TagTest):
        return "the tag is present" if Outcome.FALSE in condition.accepted else "the tag is missing"
    operands = operands_of(test)
    found = {name: message.leaves_of(name) for operand in operands for name in names(operand)}
    containers = (_container_reason(name, message) for name, leaves in found.items() if not leaves)
    if reason := next(filter(None, containers), None):
        return reason
    if any(len(leaves) != 1 for leaves in found.values()):
        return _format_attributes(found)
    values = {name: leaves[0].value for name, leaves in found.items()}
    return " and ".join(_operand_reason(operand, values) for operand in operands if not isinstance(operand, Constant))


def _operand_reason(operand: Expression, values: Mapping[str, Value]) -> str:
    """Return the value of an operand; without one, those of its attributes."""
    value = evaluate(operand, values)
    if not isinstance(value, Missing):
        return f"{operand} is {format_beside(Constant(value), operand)}"
    attributes = _format_attributes({name: (Leaf(values[name]),) for name in names(operand)})
    return f"{operand} has no value, since {attributes}"


def _joint_reason(filter: Filter, message: Message) -> str:
    """Return why no binding exists, though each part of a filter is satisfied by some value."""
    found = {name: message.leaves_of(name) for name in sorted(filter.names) if name in message}
    arrays = Counter(
        array for leaves in found.values() for array in {array for leaf in leaves for array, _ in leaf.element}
    )
    shared = [path for (path, _), count in arrays.items() if count > 1]
    if shared:
        return f"no one element of {format_name(min(shared, key=len))} satisfies all"
    repeated = {name: leaves for name, leaves in found.items() if len(leaves) > 1}
    if len(repeated) == 1:
        return f"no one value satisfies all: {_format_attributes(repeated)}"
    return f"no one value of each of {', '.join(map(format_name, repeated))} satisfies all"


def _format_attributes(found: Mapping[str, Sequence[Leaf]]) -> str:
    return " and ".join(f"{format_name(name)} is {_format_values(leaves)}" for name, leaves in found.items())


def _format_values(found: Sequence[Leaf]) -> str:
    if len(found) <= 1:
        return format_value(found[0].value) if found else "absent"
    shown = [format_value(leaf.value) for leaf in found[:_MAX_VALUES]]
    more = [f"… {len(found) - _MAX_VALUES:,} more"] if len(found) > _MAX_VALUES else []
    return f"[{', '.join([*shown, *more])}]"
