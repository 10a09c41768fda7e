"""The leaves of a message that the filters of a table can use.

A field that no filter uses never rejects a message, whatever it holds; a used one is checked. The kernels read
plain dicts, lists and values themselves; what they cannot read is read here: dates, decimals, other mappings
and sequences, and arrays of objects beside dotted keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from cbnet.language.message import MAX_DEPTH, Leaf, Message
from cbnet.language.values import RESERVED_NAME

_UNUSED: Any = object()


class Names(Protocol):
    """The names and tags that filters use."""

    names: int
    count: int  # names and tags

    def symbol(self, text: str, is_tag: bool) -> int:
        """Return a number that is not negative if a filter uses the name."""

    def is_object(self, path: str) -> bool:
        """Return whether a filter uses an attribute of an object at a path."""


def used_message(message: object, names: Names) -> Message:
    """Return a message without the attributes that no filter uses; raise an error if another is not valid."""
    if isinstance(message, Mapping) and not isinstance(message, Message):
        message = _used_members(message, names)
    return Message.of(message)


def used_leaves(message: object, names: Names) -> tuple[dict[str, tuple[Leaf, ...]], frozenset[str]]:
    """Return the leaves and tags of `used_message`, for the kernels."""
    checked = used_message(message, names)
    return dict(checked.leaves), checked.tags


def _used_members(members: Mapping[Any, Any], names: Names) -> dict[Any, Any]:
    used = _used_object({key: value for key, value in members.items() if key != RESERVED_NAME}, "", names, 1)
    if RESERVED_NAME in members and names.count > names.names:
        used[RESERVED_NAME] = members[RESERVED_NAME]
    return used


def _used_object(members: Mapping[Any, Any], prefix: str, names: Names, depth: int) -> dict[Any, Any]:
    """Return the members that filters use; `prefix` stands before their names."""
    used = {}
    for key, value in members.items():
        kept = _used(value, prefix + key if isinstance(key, str) else key, names, depth)
        if kept is not _UNUSED:
            used[key] = kept
    return used


def _used(value: object, path: Any, names: Names, depth: int) -> Any:
    """Return what filters use of a value, for checking; the value itself where the path is not valid."""
    if depth > MAX_DEPTH or not isinstance(path, str):
        return value
    try:
        if isinstance(value, Mapping):
            return _used_object(value, f"{path}.", names, depth + 1) if names.is_object(path) else _UNUSED
        if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
            items = (_used(item, path, names, depth + 1) for item in value)
            return [item for item in items if item is not _UNUSED]
        return value if names.symbol(path, False) >= 0 else _UNUSED
    except UnicodeEncodeError:  # half of a surrogate pair, which no name has
        return _UNUSED
