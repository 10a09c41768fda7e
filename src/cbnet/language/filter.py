"""Filters: conjunctions of constraints and tags; descriptors: filters of tags only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cbnet.language.constraint import Constraint
from cbnet.language.message import Message
from cbnet.language.notation import format_tag
from cbnet.language.value_object import ValueObject, validate_members
from cbnet.language.values import validate_tags

if TYPE_CHECKING:
    from cbnet.language.predicate import Predicate


class Filter(ValueObject):
    """An immutable conjunction of constraints and required tags.

    A filter may hold several constraints on one attribute; equal ones are merged. Their order is kept
    for printing and ignored by equality. The empty filter, written `true`, matches every message.
    """

    __slots__ = ("constraints", "tags")
    _family = "filter"
    constraints: tuple[Constraint, ...]
    tags: frozenset[str]

    def __init__(self, constraints: Iterable[Constraint] = (), tags: Iterable[str] = ()) -> None:
        merged = tuple(dict.fromkeys(validate_members(constraints, Constraint)))
        self._set(constraints=merged, tags=validate_tags(tags))

    def matches(self, message: Message | Mapping[str, Any]) -> bool:
        """Return whether the message satisfies every constraint and carries every tag."""
        message = Message.of(message)
        attributes = message.attributes
        return self.tags <= message.tags and all(
            constraint.name in attributes and constraint.accepts(attributes[constraint.name])
            for constraint in self.constraints
        )

    def __and__(self, other: object) -> Filter:
        """Return the filter that matches the messages that both match."""
        if not isinstance(other, Filter):
            return NotImplemented
        return Filter(self.constraints + other.constraints, self.tags | other.tags)

    def __or__(self, other: object) -> Predicate:
        """Return the predicate that matches the messages that either matches."""
        from cbnet.language.predicate import Predicate  # imports this module

        return Predicate([self, other]) if isinstance(other, Filter) else NotImplemented

    def __reduce__(self) -> tuple[Any, ...]:
        return Filter, (self.constraints, self.tags)

    def __str__(self) -> str:
        return " and ".join([*map(str, self.constraints), *map(format_tag, sorted(self.tags))]) or "true"

    def __repr__(self) -> str:
        return f"parse_filter({str(self)!r})"

    def _make_key(self) -> tuple[Any, ...]:
        return tuple(sorted(self.constraints)), tuple(sorted(self.tags))


class Descriptor(Filter):
    """A set of tags: the filter of [2014 §2]. It equals the `Filter` that has the same tags."""

    __slots__ = ()

    def __init__(self, tags: Iterable[str]) -> None:
        super().__init__((), tags)

    def __reduce__(self) -> tuple[Any, ...]:
        return Descriptor, (self.tags,)

    def __repr__(self) -> str:
        return f"Descriptor({sorted(self.tags)!r})"
