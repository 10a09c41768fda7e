"""Explanations: the filter that a message matches, or the filters that came closest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cbnet.language.constraint import Constraint
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.notation import format_name, format_tag, format_value
from cbnet.language.predicate import Predicate
from cbnet.language.values import Value, value_type

_SHOWN = 3  # closest filters printed, where several are equally close


@dataclass(frozen=True)
class Failure:
    """A constraint, or a required tag, that the message does not satisfy."""

    required: Constraint | str  # a string is a tag
    value: Value | None  # None: the message has no such attribute or tag

    def __str__(self) -> str:
        if isinstance(self.required, str):
            return f"{format_tag(self.required)} fails: the tag is missing"
        name = format_name(self.required.name)
        if self.value is None:
            return f"{self.required} fails: {name} is absent"
        actual, expected = value_type(self.value), self.required.kind
        other_type = f", a {actual} and not a {expected}" if actual is not expected else ""
        return f"{self.required} fails: {name} is {format_value(self.value)}{other_type}"


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

    interface: str | int
    filter: Filter | None
    near_misses: tuple[NearMiss, ...] = ()

    @property
    def matched(self) -> bool:
        """Return whether the message goes to the interface."""
        return self.filter is not None

    def __str__(self) -> str:
        interface = self.interface if str(self.interface).isprintable() else repr(self.interface)
        if self.filter is not None:
            return f"{interface}: matched by {self.filter}"
        if not self.near_misses:
            return f"{interface}: no match; its predicate is empty"
        shown = [f"  {near_miss}" for near_miss in self.near_misses[:_SHOWN]]
        more = len(self.near_misses) - _SHOWN
        rest = [f"  … and {more} more as close"] if more > 0 else []
        return "\n".join([f"{interface}: no match; closest:", *shown, *rest])


def explain(message: Message, interface: str | int, predicate: Predicate) -> Explanation:
    """Return which filter of the predicate the message matches, or why it matches none."""
    near_misses = [NearMiss(filter, tuple(_failures(filter, message))) for filter in predicate.filters]
    for near_miss in near_misses:
        if not near_miss.failures:
            return Explanation(interface, near_miss.filter)
    fewest = min((len(near_miss.failures) for near_miss in near_misses), default=0)
    closest = [near_miss for near_miss in near_misses if len(near_miss.failures) == fewest]
    return Explanation(interface, None, tuple(closest))


def _failures(filter: Filter, message: Message) -> Iterator[Failure]:
    for constraint in filter.constraints:
        value = message.attributes.get(constraint.name)
        if value is None or not constraint.accepts(value):
            yield Failure(constraint, value)
    for tag in sorted(filter.tags - message.tags):
        yield Failure(tag, None)
