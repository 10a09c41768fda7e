"""Subscriptions: which clients of this router does a message go to? One live table of all their predicates."""

from __future__ import annotations

from collections.abc import Iterable

from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.network.announced import Announced
from cbnet.network.content import Content
from cbnet.network.filters import filter_to_bytes, plain_filter
from cbnet.network.slots import Slots, timed_table


class Subscriptions:
    """The subscriptions of all clients, each known by the client's link and the id that the client chose."""

    def __init__(self, announced: Announced) -> None:
        """Take where the filters are to be announced."""
        self._announced = announced
        self.table = timed_table()
        self._slots: Slots[tuple[int, int]] = Slots()
        self._of: dict[int, dict[int, dict[Filter, None]]] = {}  # link -> id -> filters
        self.size = 0  # bytes of all filters, as records have them

    # --- lookup

    def matched(self, content: Content) -> dict[int, list[int]]:
        """Return the ids of the subscriptions that a message matches, by link."""
        found: dict[int, list[int]] = {}
        for slot in self.table.match(content.members):
            link, id = self._slots.holder(slot)
            found.setdefault(link, []).append(id)
        return found

    def count(self, link: int) -> int:
        """Return how many subscriptions a client has."""
        return len(self._of.get(link, ()))

    def all(self) -> Iterable[tuple[int, int, Predicate]]:
        """Yield link, id and predicate of each subscription."""
        for link, by_id in self._of.items():
            for id, filters in by_id.items():
                yield link, id, Predicate(filters)

    def __len__(self) -> int:
        return len(self._slots)

    # --- changes

    def set(self, link: int, id: int, predicate: Predicate) -> None:
        """Add a subscription, or give it another predicate."""
        before = self._of.setdefault(link, {}).get(id, {})
        after = dict.fromkeys(map(plain_filter, predicate.filters))
        slot = self._slots.take((link, id))
        self._of[link][id] = after
        for filter in after:
            if filter not in before:
                self.table.add(slot, filter)
                self._announced.add(filter)
                self.size += len(filter_to_bytes(filter))
        for filter in before:
            if filter not in after:
                self.table.remove(slot, filter)
                self._announced.remove(filter)
                self.size -= len(filter_to_bytes(filter))

    def remove(self, link: int, id: int) -> bool:
        """Remove a subscription; return whether there was one."""
        if id not in self._of.get(link, {}):
            return False
        self.set(link, id, Predicate())
        self._slots.give_back((link, id))
        del self._of[link][id]
        return True

    def closed(self, link: int) -> None:
        """Remove all subscriptions of a client."""
        for id in list(self._of.get(link, ())):
            self.remove(link, id)
        self._of.pop(link, None)
