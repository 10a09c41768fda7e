"""Message content of a frame, ready to be matched.

Values were checked while the frame was decoded, and are not checked again: that would take as long as matching.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from cbnet.errors import ValueDomainError
from cbnet.language.message import Message
from cbnet.language.values import RESERVED_NAME
from cbnet.network.protocol.fields import Attributes, Tags
from cbnet.network.protocol.nested_values import is_nested

_set = object.__setattr__


class MessageFields(Protocol):
    """A frame, or a part of one, that holds a message."""

    @property
    def attributes(self) -> Attributes: ...  # noqa: D102

    @property
    def tags(self) -> Tags: ...  # noqa: D102


class Content(Message):
    """The message of a frame; `members` is its JSON form, which tables match fastest."""

    __slots__ = ("_fields", "members")
    _fields: MessageFields
    members: dict[str, object]

    def __init__(self, frame: MessageFields) -> None:
        members: dict[str, object] = frame.attributes  # type: ignore[assignment]  # never modified
        if RESERVED_NAME in members:
            raise ValueDomainError('the name "#" is reserved for the tags of a message', hint="choose another name")
        if frame.tags:
            members = {**members, RESERVED_NAME: frame.tags}
        _set(self, "_fields", frame)
        _set(self, "members", members)

    @property
    def attributes(self) -> Mapping[str, Any]:  # type: ignore[override]
        """The attributes of the message: values, nested dicts and lists."""
        return MappingProxyType(self._fields.attributes)

    @property
    def tags(self) -> frozenset[str]:  # type: ignore[override]
        """The tags of the message."""
        return frozenset(self._fields.tags)

    @property
    def repeated_tags(self) -> Tags:
        """The tags as sent: a frame may repeat a tag."""
        return self._fields.tags

    @property
    def is_nested(self) -> bool:
        """Whether some value is an object or an array."""
        return is_nested(self._fields.attributes)
