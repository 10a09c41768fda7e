"""Messages: attributes with values, and tags [2002 §2, 2014 §2]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from cbnet.errors import ValueDomainError
from cbnet.language.leaves import Leaf, leaves, plain_members
from cbnet.language.notation import format_name, format_tag, format_value
from cbnet.language.value_object import ValueObject
from cbnet.language.values import RESERVED_NAME, Value, sort_key, validate_name, validate_tags


class Message(ValueObject):
    """An immutable set of named, typed values, and a set of tags.

    Objects nest: `{"detail": {"state": "on"}}` has the attribute `detail.state`. A list gives an attribute
    several values, or none. Values keep their Python type (a float stays a float); messages are equal if their
    values are equal in the language: 1 equals 1.0, but not True.
    """

    __slots__ = ("_leaves", "attributes", "tags")
    _family = "message"
    attributes: Mapping[str, Any]  # as written: values, nested dicts and lists
    tags: frozenset[str]
    _leaves: Mapping[str, tuple[Leaf, ...]]

    def __init__(self, attributes: Mapping[str, Any] | None = None, tags: Iterable[str] = ()) -> None:
        if not isinstance(attributes, Mapping | None):
            raise ValueDomainError("the attributes must be a mapping", hint='write {"name": value}')
        members = plain_members(attributes or {})
        if RESERVED_NAME in members:
            validate_name(RESERVED_NAME)
        self._set(attributes=MappingProxyType(members), tags=validate_tags(tags))

    @classmethod
    def of(cls, message: object) -> Message:
        """Return a message, or the message of a mapping in the JSON form."""
        if isinstance(message, Message):
            return message
        if isinstance(message, Mapping):
            return cls.from_dict(message)
        raise ValueDomainError(f"{message!r} is not a message", hint="use a Message or a dict")

    @classmethod
    def from_dict(cls, members: Mapping[str, Any]) -> Message:
        """Return the message of the members of its JSON form; the key "#" holds the tags."""
        attributes = {name: value for name, value in members.items() if name != RESERVED_NAME}
        return cls(attributes, members.get(RESERVED_NAME, ()))

    @property
    def leaves(self) -> Mapping[str, tuple[Leaf, ...]]:
        """The values of each attribute, with the array elements that they lie in."""
        try:
            return self._leaves
        except AttributeError:
            self._set(_leaves=leaves(self.attributes))
            return self._leaves

    def values(self, name: str) -> tuple[Value, ...]:
        """Return the values of an attribute, such as `detail.state`; none if it is absent."""
        return tuple(leaf.value for leaf in self.leaves.get(name, ()))

    def to_dict(self) -> dict[str, Any]:
        """Return the members of the JSON form of this message."""
        tags = {RESERVED_NAME: sorted(self.tags)} if self.tags else {}
        return {**self.attributes, **tags}

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, (dict(self.attributes), self.tags)

    def __str__(self) -> str:
        attributes = (f"{format_name(name)} = {_format_values(found)}" for name, found in self.leaves.items())
        return ", ".join([*attributes, *map(format_tag, sorted(self.tags))])

    def __repr__(self) -> str:
        tags = f", tags={sorted(self.tags)!r}" if self.tags else ""
        return f"Message({dict(self.attributes)!r}{tags})"

    def _make_key(self) -> tuple[Any, ...]:
        found = sorted(
            (name, tuple((*sort_key(leaf.value), leaf.element) for leaf in values))
            for name, values in self.leaves.items()
        )
        return tuple(found), tuple(sorted(self.tags))


def _format_values(found: tuple[Leaf, ...]) -> str:
    shown = ", ".join(format_value(leaf.value) for leaf in found)
    return shown if len(found) == 1 else f"[{shown}]"
