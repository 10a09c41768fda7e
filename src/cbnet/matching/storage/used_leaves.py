"""The leaves of a message that the filters of a table can use.

A field that no filter uses never rejects a message, whatever it holds; a used one is checked. The kernels read
plain dicts, lists and values themselves; what they cannot read is read here: dates, decimals, other mappings
and sequences, arrays of objects beside dotted keys, and arrays that computed attributes depend on. Of these, items that
no filter uses keep their places: they count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from cbnet._kernels.symbol_table import Symbols
from cbnet.errors import UndecidedError
from cbnet.language.computed import computed
from cbnet.language.message import MAX_DEPTH, Leaf, Message
from cbnet.language.search_budget import MAX_EXAMINED
from cbnet.language.values import RESERVED_NAME

_UNUSED: Any = object()
_SCALARS = (str, int, float, bool)


class Names(Protocol):
    """The names and tags that filters use."""

    names: int
    count: int  # names and tags

    def symbol(self, text: str, is_tag: bool) -> int:
        """Return a number that is not negative if a filter uses the name."""

    def is_object(self, path: str) -> bool:
        """Return whether a filter uses an attribute of an object at a path."""


class TableNames(Names, Protocol):
    """The names that the filters of a table of several parts use."""

    @property
    def arrays(self) -> UsedArrays:
        """What computed attributes depend on."""


@dataclass(frozen=True)
class UsedArrays:
    """What computed attributes depend on."""

    names: Mapping[str, Sequence[str]]  # of computed attributes, by their roots
    paths: Set[str]
    objects: Set[str]  # that hold the paths

    @classmethod
    def of(cls, names: Symbols | TableNames) -> UsedArrays:
        """Return the arrays that the filters of a table use."""
        if not isinstance(names, Symbols):
            return names.arrays
        found = _ARRAYS.get(names)
        if found is None:
            found = _ARRAYS[names] = cls.of_names(names.computed_names())
        return found

    @classmethod
    def of_names(cls, names: Iterable[str]) -> UsedArrays:
        """Return what computed attributes depend on; other names are ignored."""
        by_root: dict[str, list[str]] = {}
        paths: set[str] = set()
        for name in names:
            meaning = computed(name)
            if meaning is not None:
                by_root.setdefault(meaning.root, []).append(name)
                paths |= meaning.used_paths
        objects = {path[:at] for path in paths for at, char in enumerate(path) if char == "."}
        return cls(by_root, paths, objects)

    @classmethod
    def joined(cls, parts: Iterable[UsedArrays]) -> UsedArrays:
        """Return what the computed attributes of several parts of a table depend on."""
        used = [part for part in parts if part.names]
        if len(used) == 1:
            return used[0]
        roots = {root for part in used for root in part.names}
        by_root = {root: [*dict.fromkeys(chain(*(part.names.get(root, ()) for part in used)))] for root in roots}
        return cls(by_root, set().union(*(part.paths for part in used)), set().union(*(part.objects for part in used)))

    def names_of(self, message: Message) -> list[str]:
        """Return the names of the computed attributes that a message may have."""
        roots = {name.partition(".")[0] for name in message.attributes} if self.names else set()
        return [name for root in roots for name in self.names.get(root, ())]


_ARRAYS: WeakKeyDictionary[Symbols, UsedArrays] = WeakKeyDictionary()


def computed_leaves(
    message: Message, arrays: UsedArrays, pay: Callable[[str], bool] | None = None
) -> tuple[dict[str, tuple[Leaf, ...]], list[str]]:
    """Return the leaves of the computed attributes of a message, and the names of those that are undecided.

    pay: called with each name before, returns whether it may be examined.
    """
    found, undecided = {}, []
    for name in arrays.names_of(message):
        if pay is not None and not pay(name):
            undecided.append(name)
            continue
        try:
            values = message.leaves_of(name)
        except UndecidedError:
            undecided.append(name)
        else:
            if values:
                found[name] = values
    return found, undecided


def used_message(message: object, names: Symbols | TableNames) -> Message:
    """Return a message without the attributes that no filter uses; raise an error if another is not valid."""
    if isinstance(message, Mapping) and not isinstance(message, Message):
        message = _used_members(message, names)
    return Message.of(message)


def used_leaves(message: object, names: Symbols | TableNames) -> tuple[dict[str, tuple[Leaf, ...]], frozenset[str]]:
    """Return the leaves and tags of `used_message`, for the kernels."""
    checked = used_message(message, names)
    found, undecided = computed_leaves(checked, UsedArrays.of(names))
    if undecided:
        raise UndecidedError((), (), MAX_EXAMINED)
    return {**checked.leaves, **found}, checked.tags


def _used_members(members: Mapping[Any, Any], names: Symbols | TableNames) -> dict[Any, Any]:
    reader = _UsedMembers(names)
    used = reader.members({key: value for key, value in members.items() if key != RESERVED_NAME}, "", 1)
    if RESERVED_NAME in members and names.count > names.names:
        used[RESERVED_NAME] = members[RESERVED_NAME]
    return used


class _UsedMembers:
    """Copies what filters use of a message, for checking."""

    def __init__(self, names: Symbols | TableNames) -> None:
        self._names = names
        self._arrays = UsedArrays.of(names)
        self._known: dict[str, bool] = {}  # paths of values

    def members(self, members: Mapping[Any, Any], prefix: str, depth: int) -> dict[Any, Any]:
        """Return the members that filters use; `prefix` stands before their names."""
        used = {}
        for key, value in members.items():
            kept = self._used(value, prefix + key if isinstance(key, str) else key, depth)
            if kept is not _UNUSED:
                used[key] = kept
        return used

    def _used(self, value: object, path: Any, depth: int) -> Any:
        """Return what filters use of a value; the value itself where the path is not valid."""
        if depth > MAX_DEPTH or not isinstance(path, str):
            return value
        try:
            if type(value) in _SCALARS:  # most values
                return value if self._is_used(path) else _UNUSED
            if isinstance(value, Mapping):
                return self.members(value, f"{path}.", depth + 1) if self._is_object(path) else _UNUSED
            if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
                items = [self._used(item, path, depth + 1) for item in value]
                if path.partition(".")[0] in self._arrays.names:
                    return [_place(item) if kept is _UNUSED else kept for item, kept in zip(value, items, strict=True)]
                return [item for item in items if item is not _UNUSED]
            return value if self._is_used(path) else _UNUSED
        except UnicodeEncodeError:  # half of a surrogate pair, which no name has
            return _UNUSED

    def _is_object(self, path: str) -> bool:
        return path in self._arrays.objects or self._names.is_object(path)

    def _is_used(self, path: str) -> bool:
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = path in self._arrays.paths or self._names.symbol(path, False) >= 0
        return known


def _place(item: object) -> Any:
    """Return what stands for an item that no filter uses: it counts, and has its position."""
    return {} if isinstance(item, Mapping) else None
