"""Message content of a frame, ready to be matched, and validation of nested messages.

The values at the top of a message are checked while its frame is decoded (`fields`). What is inside objects and arrays
is decoded as any MessagePack, and checked here: its types, its depth, and its size. The names of nested values are
counted with their paths: few bytes can hold many long paths. `Content` checks nothing again: that would take as long as
matching.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from cbnet.errors import LimitError, ValueDomainError
from cbnet.language.message import Message, check_depth
from cbnet.language.search_budget import SearchBudget
from cbnet.language.values import RESERVED_NAME, type_name, validate_value
from cbnet.network.protocol.fields import MAX_NAME_CHARACTERS, MAX_VALUES, Attributes, Tags

MAX_EXAMINED_IN_ITEMS = 10_000  # values: they take about 10 ms
_CONTAINERS = frozenset((dict, list))
_PLAIN = frozenset((str, bool, type(None)))
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
    def _own_budget(self) -> SearchBudget:
        """How many values all searches in items of arrays may examine outside of tables: in traces."""
        if not hasattr(self, "_budget"):
            _set(self, "_budget", SearchBudget(MAX_EXAMINED_IN_ITEMS))
        return self._budget

    @property
    def repeated_tags(self) -> Tags:
        """The tags as sent: a frame may repeat a tag."""
        return self._fields.tags

    @property
    def is_nested(self) -> bool:
        """Whether some value is an object or an array."""
        return is_nested(self._fields.attributes)


# --- nested messages


def is_nested(attributes: Mapping[str, Any]) -> bool:
    """Return whether some value is an object or an array."""
    return not _CONTAINERS.isdisjoint(map(type, attributes.values()))


def check_nested(attributes: Mapping[str, Any]) -> bool:
    """Return whether a message is nested; raise an `InputError` if a nested value is invalid, or there are too many."""
    if not is_nested(attributes):
        return False
    _Checker().check_object(attributes, "", 0, 1)
    return True


class _Checker:
    """A pass over one message that counts its values and the characters of their names."""

    def __init__(self) -> None:
        self._values = 0
        self._characters = 0

    def check_object(self, members: Mapping[Any, Any], where: str, length: int, depth: int) -> None:
        """Check an object: where and how deep it is, and how long its path is."""
        for name, value in members.items():
            if type(name) is not str:
                raise ValueDomainError(f"{where}: the name of an attribute is {type_name(name)}")
            place = where or name
            levels = depth + name.count(".")  # a.b is b in a
            check_depth(place, levels)
            self._check(value, place, length + len(name) + 1, levels)

    def _check(self, value: Any, where: str, length: int, depth: int) -> None:
        self._count(length)
        kind = type(value)
        if kind in _PLAIN:
            return
        if kind is int or kind is float:
            validate_value(value, where)
            return
        if kind not in _CONTAINERS:
            raise ValueDomainError(f"{where}: {type_name(value)} is not a value")
        check_depth(where, depth + 1)
        if kind is dict:
            self.check_object(value, where, length, depth + 1)
        else:
            for item in value:
                self._check(item, where, length, depth + 1)

    def _count(self, length: int) -> None:
        self._values += 1
        self._characters += length
        if self._values > MAX_VALUES:
            raise LimitError("values of a message", self._values, MAX_VALUES)
        if self._characters > MAX_NAME_CHARACTERS:
            raise LimitError("characters in the names of a message", self._characters, MAX_NAME_CHARACTERS)
