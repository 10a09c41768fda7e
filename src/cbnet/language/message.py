"""Messages: attributes with values, and tags [2002 §2, 2014 §2].

The leaves of a message are its scalar values, each with its attribute's name and its array elements.

    {"id": 7, "items": [{"sku": "a", "n": [1, 2]}, {"sku": "b"}]}

    id         7
    items.sku  "a" in items[0], "b" in items[1]
    items.n    1 and 2, both in items[0]

An object inside an array is an *element*. Two leaves are compatible unless they lie in different elements of
one array; only compatible leaves can satisfy one filter together.

A key "a.b" and a nested a, b are the same attribute. Where both occur, scalars of one path are several values,
objects outside arrays merge, arrays of one path are joined, and an object beside an array is one more element.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from cbnet.errors import ValueDomainError
from cbnet.language.value_object import ValueObject
from cbnet.language.values import (
    RESERVED_NAME,
    Value,
    format_name,
    format_tag,
    format_value,
    sort_key,
    type_name,
    validate_name,
    validate_tags,
    validate_text,
    validate_value,
)

MAX_DEPTH = 64  # levels of nested objects and arrays
SHOWN_PATH = 200  # characters of a path that errors show: the paths of all values are not made for them

# The elements that a leaf lies in, outermost first: an array, by its path and its depth among arrays that hold
# each other directly, and an index in it.
Element: TypeAlias = tuple[tuple[tuple[str, int], int], ...]
_CONTAINERS = (dict, list)


class Leaf(NamedTuple):
    """A value of an attribute, and the array elements that it lies in."""

    value: Value
    element: Element = ()


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
        if not isinstance(members, Mapping):
            raise ValueDomainError(
                f"a message must be a mapping, not {type_name(members)}", hint='write {"name": value}'
            )
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


def plain_members(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return members as plain dicts, lists and values; raise an error if a value is not valid."""
    return _plain_object(members, "", 1)


def leaves(members: Mapping[str, Any]) -> dict[str, tuple[Leaf, ...]]:
    """Return the leaves of each attribute of a message, given as plain members without its tags."""
    if all(type(value) not in _CONTAINERS for value in members.values()):
        return {name: (Leaf(value),) for name, value in members.items()}
    root = _Node()
    root.insert(dict(members))
    found: dict[str, list[Leaf]] = {}
    root.collect(found, None, (), 0)
    return {name: tuple(values) for name, values in found.items()}


def _plain(value: object, where: str, depth: int) -> Any:
    if value is None or isinstance(value, str | int | float):  # most values
        return validate_value(value, where)
    if isinstance(value, Mapping):
        return _plain_object(value, where, depth + 1)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        check_depth(where, depth + 1)
        return [_plain(item, where, depth + 1) for item in value]
    return validate_value(value, where)


def _plain_object(members: Mapping[str, Any], path: str, depth: int) -> dict[str, Any]:
    check_depth(path, depth)
    plain = {}
    for key, value in members.items():
        if not isinstance(key, str):
            where = f"{path}: " if path else ""
            raise ValueDomainError(f"{where}an attribute's name must be a string, not {type_name(key)}")
        name = validate_text(key, "attribute name")
        plain[name] = _plain(value, f"{path[:SHOWN_PATH]}.{name}" if path else name, depth)
    return plain


def check_depth(where: str, depth: int) -> None:
    """Raise an error if an object or array is nested too deeply."""
    if depth > MAX_DEPTH:
        shown = where if len(where) <= 40 else where[:40] + "…"
        raise ValueDomainError(f"{shown}: nested deeper than {MAX_DEPTH} levels", hint="flatten the message")


class _Node:
    """All values of one path in one element: scalars, an object, and the elements of an array."""

    __slots__ = ("children", "elements", "scalars")

    def __init__(self) -> None:
        self.scalars: list[Value] = []
        self.children: dict[str, _Node] = {}
        self.elements: list[_Node] = []

    def insert(self, value: Any) -> None:
        if isinstance(value, dict):
            for key, member in value.items():
                node = self
                for segment in key.split(".", MAX_DEPTH):  # a path has no more levels
                    node = node.children.setdefault(segment, _Node())
                node.insert(member)
        elif isinstance(value, list):
            for item in value:
                self._insert_item(item)
        else:
            self.scalars.append(value)

    def _insert_item(self, item: Any) -> None:
        if not isinstance(item, dict | list):
            self.scalars.append(item)
            return
        element = _Node()
        element.insert(item)
        self.elements.append(element)

    def collect(self, found: dict[str, list[Leaf]], path: str | None, element: Element, depth: int) -> None:
        """Add the leaves below this node. `depth` counts the arrays that hold each other directly."""
        if self.scalars:
            found.setdefault(path or "", []).extend(Leaf(value, element) for value in self.scalars)
        array = (path or "", depth)
        for index, node in enumerate(self.elements):
            node.collect(found, path, (*element, (array, index)), depth + 1)
        within = (*element, (array, len(self.elements))) if self.elements else element
        for segment, node in self.children.items():
            node.collect(found, segment if path is None else f"{path}.{segment}", within, 0)


def _format_values(found: tuple[Leaf, ...]) -> str:
    shown = ", ".join(format_value(leaf.value) for leaf in found)
    return shown if len(found) == 1 else f"[{shown}]"
