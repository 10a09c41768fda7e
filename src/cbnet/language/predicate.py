"""Predicates: disjunctions of filters, the content-based address of a node; limits on untrusted ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cbnet.errors import InputError, LimitError, UndecidedError
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.value_object import ValueObject, validate_members

MAX_FILTER_BYTES = 1 << 16  # of the byte form of a filter


class Predicate(ValueObject):
    """An immutable disjunction of filters.

    Equal filters are merged; their order is kept for printing and ignored by equality. The empty
    predicate, written `false`, matches no message.
    """

    __slots__ = ("filters",)
    _family = "predicate"
    filters: tuple[Filter, ...]

    def __init__(self, filters: Iterable[Filter] = ()) -> None:
        self._set(filters=tuple(dict.fromkeys(validate_members(filters, Filter))))

    def matches(self, message: Message | Mapping[str, Any]) -> bool:
        """Return whether the message matches one of the filters; raise UndecidedError if the search takes too long."""
        message, undecided = Message.of(message), None
        for filter in self.filters:
            try:
                if filter.matches(message):
                    return True
            except UndecidedError as error:
                undecided = error
        if undecided is not None:
            raise undecided
        return False

    def __or__(self, other: object) -> Predicate:
        """Return the predicate that matches the messages that either matches."""
        others = _filters(other)
        return NotImplemented if others is None else Predicate(self.filters + others)

    def __ror__(self, other: object) -> Predicate:
        others = _filters(other)
        return NotImplemented if others is None else Predicate(others + self.filters)

    def __and__(self, other: object) -> Predicate:
        """Return the predicate that matches the messages that both match with one binding of their values.

        A message with several values of an attribute may match both by different values, and not match this:
        {"x": [1, 9]} matches `x < 5` and `x > 5`. The limits are those of the parser.
        """
        others = _filters(other)
        return NotImplemented if others is None else _product(self.filters, others)

    def __rand__(self, other: object) -> Predicate:
        others = _filters(other)
        return NotImplemented if others is None else _product(others, self.filters)

    def __iter__(self) -> Iterator[Filter]:
        return iter(self.filters)

    def __len__(self) -> int:
        return len(self.filters)

    def __reduce__(self) -> tuple[Any, ...]:
        return Predicate, (self.filters,)

    def __str__(self) -> str:
        return " or ".join(map(str, self.filters)) or "false"

    def __repr__(self) -> str:
        return f"parse({str(self)!r})"

    def _make_key(self) -> tuple[Filter, ...]:
        return tuple(sorted(self.filters))


def _filters(operand: object) -> tuple[Filter, ...] | None:
    if isinstance(operand, Predicate):
        return operand.filters
    return (operand,) if isinstance(operand, Filter) else None


def _product(lefts: tuple[Filter, ...], rights: tuple[Filter, ...]) -> Predicate:
    size = len(rights) * _size(lefts) + len(lefts) * _size(rights)
    DEFAULT_LIMITS.check_size(len(lefts) * len(rights), size)
    return Predicate(left & right for left in lefts for right in rights)


def _size(filters: tuple[Filter, ...]) -> int:
    return sum(len(filter.constraints) + len(filter.tags) + len(filter.conditions) for filter in filters)


@dataclass(frozen=True)
class Limits:
    """Limits of a predicate's text and of its disjunctive normal form."""

    length: int = 1_000_000
    nesting: int = 100
    filters: int = 10_000
    constraints: int = 100_000

    def check_text(self, text: object) -> None:
        """Raise an error unless `text` is a string within the limit."""
        if isinstance(text, Mapping):
            raise InputError(
                "a predicate must be a string, not an object", hint='name its dialect, such as "eventbridge"'
            )
        if not isinstance(text, str):
            raise InputError(f"a predicate must be a string, not {text!r}", hint='write it as text: "x = 1"')
        if len(text) > self.length:
            hint = "split it into several predicates"
            raise LimitError("characters in a predicate", len(text), self.length, hint=hint).at(line=1, column=1)

    def check_size(self, filters: int, constraints: int) -> None:
        """Raise an error if a normal form exceeds the limits."""
        for subject, count, limit in (
            ("filters in the normal form", filters, self.filters),
            ("constraints in the normal form", constraints, self.constraints),
        ):
            if count > limit:
                raise LimitError(subject, count, limit, hint="split it into several smaller predicates")


DEFAULT_LIMITS = Limits()


def validate_limits(limits: object) -> Limits:
    """Return the limits if they are `Limits`."""
    if isinstance(limits, Limits):
        return limits
    raise InputError(f"the limits must be Limits, not {limits!r}", hint="write Limits(filters=50_000)")
