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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from cbnet.errors import UndecidedError, ValueDomainError
from cbnet.language.computed import ITEM_NAME, Computed, Segment, computed
from cbnet.language.search_budget import MAX_EXAMINED, SearchBudget
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
_OF_ITEM: Mapping[str, Any] = MappingProxyType({})  # the attributes of the message of an item, which has leaves only


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

    __slots__ = ("_budget", "_computed", "_leaves", "_root", "attributes", "tags")
    _family = "message"
    attributes: Mapping[str, Any]  # as written: values, nested dicts and lists
    tags: frozenset[str]
    _budget: SearchBudget  # of the searches in items of arrays
    _leaves: Mapping[str, tuple[Leaf, ...]]
    _root: _Node
    _computed: dict[str, tuple[Leaf, ...] | None]  # None: undecided; not kept for items, which others may pay for

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
            is_flat = all(type(value) not in _CONTAINERS for value in self.attributes.values())
            self._set(_leaves=leaves(self.attributes) if is_flat else self._nodes.leaves())
            return self._leaves

    def leaves_of(self, name: str) -> tuple[Leaf, ...]:
        """Return the values of an attribute, computed or not, with the array elements that they lie in."""
        found = self.leaves.get(name, ())
        return found + self._computed_leaves(name) if name.endswith(")") or "[" in name else found

    def __contains__(self, name: object) -> bool:
        """Return whether the message has a value of an attribute."""
        return isinstance(name, str) and bool(self.leaves_of(name))

    def values(self, name: str) -> tuple[Value, ...]:
        """Return the values of an attribute, such as `detail.state`; none if it is absent."""
        return tuple(leaf.value for leaf in self.leaves_of(name))

    def _computed_leaves(self, name: str) -> tuple[Leaf, ...]:
        try:
            known = self._computed
        except AttributeError:
            self._set(_computed={})
            known = self._computed
        if name not in known:
            meaning, is_item = computed(name), self.attributes is _OF_ITEM
            budget = self._own_budget
            if not is_item:
                known[name] = None
                budget.begin()
            known[name] = () if meaning is None else tuple(_computed_leaves(self._nodes, meaning, budget))
        found = known[name]
        if found is None:
            raise UndecidedError((), (), MAX_EXAMINED)
        return found

    @property
    def _own_budget(self) -> SearchBudget:
        try:
            return self._budget
        except AttributeError:
            self._set(_budget=SearchBudget(MAX_EXAMINED, is_renewed=True))
            return self._budget

    @property
    def _nodes(self) -> _Node:
        """The objects and arrays of the message."""
        try:
            return self._root
        except AttributeError:
            root = _Node()
            root.insert(dict(self.attributes))
            self._set(_root=root)
            return root

    @classmethod
    def _of_item(cls, item: Value | _Node, budget: SearchBudget) -> Message:
        """Return the message of an item of an array: an object, or else what `@` stands for."""
        root = item if isinstance(item, _Node) and not item.items else _Node()
        if root is not item:
            root.children[ITEM_NAME] = _as_node(item)
        message = cls.__new__(cls)
        message._set(attributes=_OF_ITEM, tags=frozenset(), _root=root, _budget=budget, _leaves=root.leaves())
        return message

    @property
    def budget(self) -> SearchBudget | None:
        """How many values searches may still examine, if that is shared: in the items of arrays."""
        return self._budget if self.attributes is _OF_ITEM else None

    def limit_items(self, budget: SearchBudget, known: dict[str, tuple[Leaf, ...] | None] | None = None) -> None:
        """Limit how many values all searches in items of arrays may examine; else MAX_EXAMINED for each attribute.

        known: values of computed attributes; others are added.
        """
        self._set(_budget=budget, _computed={} if known is None else known)

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
        is_flat = all(type(value) not in _CONTAINERS for value in self.attributes.values())
        arrays = () if is_flat else tuple(sorted(self._nodes.arrays("", ())))
        return tuple(found), tuple(sorted(self.tags)), arrays


def plain_members(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return members as plain dicts, lists and values; raise an error if a value is not valid."""
    return _plain_object(members, "", 1)


def leaves(members: Mapping[str, Any]) -> dict[str, tuple[Leaf, ...]]:
    """Return the leaves of each attribute of a message, given as plain members without its tags."""
    if all(type(value) not in _CONTAINERS for value in members.values()):
        return {name: (Leaf(value),) for name, value in members.items()}
    root = _Node()
    root.insert(dict(members))
    return root.leaves()


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

    __slots__ = ("children", "elements", "items", "messages", "scalars")

    def __init__(self) -> None:
        self.scalars: list[Value] = []
        self.children: dict[str, _Node] = {}
        self.elements: list[_Node] = []
        self.items: list[Value | _Node] = []  # scalars and elements, in their order
        self.messages: list[Message] | None = None  # of the items, once a quantifier tests them

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
            self._insert_item(value)

    def _insert_item(self, item: Any) -> None:
        if not isinstance(item, dict | list):
            self.scalars.append(item)
            self.items.append(item)
            return
        element = _Node()
        element.insert(item)
        self.elements.append(element)
        self.items.append(element)

    def all_items(self) -> list[Value | _Node]:
        """Return the items of the array at this path; a single value is an array of one."""
        if not self.elements or not self.children:
            return self.items
        beside = _Node()  # an object beside an array is one more element
        beside.children = self.children
        return [*self.items, beside]

    def item_messages(self, budget: SearchBudget) -> list[Message]:
        """Return the messages of the items, the same for all quantifiers."""
        if self.messages is None:
            self.messages = [Message._of_item(item, budget) for item in self.all_items()]
        return self.messages

    def arrays(self, path: str, element: Element) -> Iterator[tuple[str, Element, tuple[bool, ...]]]:
        """Yield each array that holds elements, and which of its items are elements."""
        if self.elements:
            yield path, element, tuple(isinstance(item, _Node) for item in self.items)
        for index, node in enumerate(self.elements):
            yield from node.arrays(f"{path}[]", (*element, ((path, 0), index)))
        for key, node in self.children.items():
            yield from node.arrays(f"{path}.{key}", element)

    def leaves(self) -> dict[str, tuple[Leaf, ...]]:
        """Return the leaves of each attribute below this node."""
        found: dict[str, list[Leaf]] = {}
        self.collect(found, None, (), 0)
        return {name: tuple(values) for name, values in found.items()}

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


_COMPUTED = 1000  # added to the depth of arrays below a position: no array has it, so their elements are others


def _computed_leaves(root: _Node, meaning: Computed, budget: SearchBudget) -> Iterator[Leaf]:
    """Yield the values of a computed attribute; raise UndecidedError if that takes too long."""
    for node, element, path, depth in _reached(root, meaning.path, None, (), 0, budget):
        if meaning.kind == "item":
            yield from _values(node, path, element, depth)
            continue
        size = len(node.items) + bool(node.elements and node.children)
        if not size:
            continue
        if meaning.predicate is None:
            yield Leaf(size, element)
            continue
        budget.spend(size * meaning.effort)
        matches = map(meaning.predicate.matches, node.item_messages(budget))
        yield Leaf(sum(matches) if meaning.kind == "count" else all(matches), element)


def _reached(
    node: _Node, segments: Sequence[Segment], path: str | None, element: Element, depth: int, budget: SearchBudget
) -> Iterator[tuple[_Node, Element, str, int]]:
    """Yield the nodes at a path, each with its elements, and its path and depth as an array."""
    budget.spend(1)
    if not segments:
        yield node, element, path or "", depth
        return
    array = (path or "", depth)
    for index, inner in enumerate(node.elements):
        yield from _reached(inner, segments, path, (*element, (array, index)), depth + 1, budget)
    key, positions = segments[0]
    child = node.children.get(key)
    for position in positions:
        items = [] if child is None else child.all_items()
        child = _as_node(items[position]) if -len(items) <= position < len(items) else None
    if child is not None:
        within = (*element, (array, len(node.elements))) if node.elements else element
        place = key if path is None else f"{path}.{key}"
        place += "".join(f"[{position}]" for position in positions)
        depth = _COMPUTED if positions or depth >= _COMPUTED else 0
        yield from _reached(child, segments[1:], place, within, depth, budget)


def _values(node: _Node, path: str, element: Element, depth: int) -> Iterator[Leaf]:
    """Yield the values at a path itself, also in arrays that arrays hold."""
    yield from (Leaf(value, element) for value in node.scalars)
    for index, inner in enumerate(node.elements):
        yield from _values(inner, path, (*element, ((path, depth), index)), depth + 1)


def _as_node(item: Value | _Node) -> _Node:
    if isinstance(item, _Node):
        return item
    node = _Node()
    node.insert(item)
    return node


def _format_values(found: tuple[Leaf, ...]) -> str:
    shown = ", ".join(format_value(leaf.value) for leaf in found)
    return shown if len(found) == 1 else f"[{shown}]"
