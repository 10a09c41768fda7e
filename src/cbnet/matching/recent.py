"""Recent: the newest filters of a live table, before they are compiled. Few, and quick to change.

Each is filed under one of the names or tags that it needs, the one with the fewest others, so a
message is set against few of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from cbnet.language.filter import Filter
from cbnet.language.values import RESERVED_NAME

Item: TypeAlias = tuple[int, Filter]  # target, filter
_ALWAYS = ("", False)  # what the empty filter needs


class Recent:
    """A small set of filters with their targets."""

    def __init__(self) -> None:
        self._needs: dict[Item, tuple[str, bool]] = {}
        self._items: dict[tuple[str, bool], dict[Item, None]] = {}

    def __len__(self) -> int:
        return len(self._needs)

    def __iter__(self) -> Iterator[Item]:
        return iter(list(self._needs))

    def __contains__(self, item: Item) -> bool:
        return item in self._needs

    def copy(self) -> Recent:
        """Return a copy that changes apart."""
        copy = Recent()
        for item in self._needs:
            copy.add(item)
        return copy

    def add(self, item: Item) -> None:
        """Add a filter; it matches from now on."""
        filter = item[1]
        needed = [(constraint.name, False) for constraint in filter.constraints] + [(tag, True) for tag in filter.tags]
        need = min(needed, key=lambda need: len(self._items.get(need, ())), default=_ALWAYS)
        self._items.setdefault(need, {})[item] = None
        self._needs[item] = need

    def discard(self, item: Item) -> bool:
        """Remove a filter; return whether it was there."""
        need = self._needs.pop(item, None)
        if need is not None:
            del self._items[need][item]
        return need is not None

    def match(self, members: Mapping[str, Any]) -> set[int]:
        """Return the targets of a message in its JSON form, which is known to be valid."""
        tags = members.get(RESERVED_NAME, ())
        found = {target for target, _ in self._candidates(_ALWAYS)}
        for name in members:
            found.update(t for t, filter in self._candidates((name, False)) if _passes(filter, members, tags))
        for tag in tags:
            found.update(t for t, filter in self._candidates((tag, True)) if _passes(filter, members, tags))
        return found

    def _candidates(self, need: tuple[str, bool]) -> list[Item]:
        return list(self._items.get(need, ()))


def _passes(filter: Filter, members: Mapping[str, Any], tags: Any) -> bool:
    return filter.tags.issubset(tags) and all(
        constraint.name in members and constraint.accepts(members[constraint.name]) for constraint in filter.constraints
    )
