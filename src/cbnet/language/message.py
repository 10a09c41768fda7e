"""Messages: attributes with values, and tags [2002 §2, 2014 §2]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from cbnet.errors import ValueDomainError
from cbnet.language.notation import format_name, format_tag, format_value
from cbnet.language.value_object import ValueObject
from cbnet.language.values import RESERVED_NAME, Value, sort_key, validate_name, validate_tags, validate_value


class Message(ValueObject):
    """An immutable set of named, typed values, and a set of tags.

    Values keep their Python type (a float stays a float); messages are equal if their values are
    equal in the language: 1 equals 1.0, but not True.
    """

    __slots__ = ("attributes", "tags")
    _family = "message"
    attributes: Mapping[str, Value]
    tags: frozenset[str]

    def __init__(self, attributes: Mapping[str, Value] | None = None, tags: Iterable[str] = ()) -> None:
        if not isinstance(attributes, Mapping | None):
            raise ValueDomainError("the attributes must be a mapping", hint='write {"name": value}')
        checked = {validate_name(name): validate_value(value, name) for name, value in (attributes or {}).items()}
        self._set(attributes=MappingProxyType(checked), tags=validate_tags(tags))

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

    def to_dict(self) -> dict[str, Any]:
        """Return the members of the JSON form of this message."""
        tags = {RESERVED_NAME: sorted(self.tags)} if self.tags else {}
        return {**self.attributes, **tags}

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, (dict(self.attributes), self.tags)

    def __str__(self) -> str:
        attributes = (f"{format_name(name)} = {format_value(value)}" for name, value in self.attributes.items())
        return ", ".join([*attributes, *map(format_tag, sorted(self.tags))])

    def __repr__(self) -> str:
        tags = f", tags={sorted(self.tags)!r}" if self.tags else ""
        return f"Message({dict(self.attributes)!r}{tags})"

    def _make_key(self) -> tuple[Any, ...]:
        attributes = sorted((name, *sort_key(value)) for name, value in self.attributes.items())
        return tuple(attributes), tuple(sorted(self.tags))
