"""Validation of nested messages: what is inside the objects and arrays of a message from the network.

The values at the top of a message are checked while its frame is decoded (`fields`). What is below them is decoded as
any MessagePack, and checked here: its types, its depth, and its size. The names of nested values are counted with
their paths: few bytes can hold many long paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cbnet.errors import LimitError, ValueDomainError
from cbnet.language.leaves import check_depth
from cbnet.language.values import type_name, validate_value
from cbnet.network.protocol.fields import MAX_NAME_CHARACTERS, MAX_VALUES

_CONTAINERS = frozenset((dict, list))
_PLAIN = frozenset((str, bool, type(None)))


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
