"""Subscriptions: which clients of this router does a message go to? One live table of all their predicates.

A node may also have a predicate that was loaded when the network was made. It belongs to no client, and stays; clients
may listen to what is delivered to it.

Offers are the same for requests: another table, of what clients answer requests for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.network.announce.announcement import Announcement
from cbnet.network.announce.slots import Slots, timed_table
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.filter_codec import canonical_filter, filter_to_bytes

LOADED = 0  # the link of the predicate that was loaded: no client has it
BEYOND = -1  # the link of what a gateway asks for because it is wanted in other domains


class Subscriptions:
    """The subscriptions of all clients, each known by the client's link and the id that the client chose."""

    def __init__(self, announced: Announcement) -> None:
        """Take where the filters are to be announced."""
        self.announcement = announced
        self.table = timed_table()
        self._slots: Slots[tuple[int, int]] = Slots()
        self._of: dict[int, dict[int, dict[Filter, None]]] = {}  # link -> id -> filters
        self._listening: dict[tuple[int, int], None] = {}  # to the loaded predicate: link and id
        self.size = 0  # bytes of all filters, as records have them
        self.changes = 0  # of any subscription
        self._constraints: Counter[int] = Counter()  # of the filters of each client

    # --- lookup

    def matched(self, content: Content) -> dict[int, list[int]]:
        """Return the ids of the subscriptions that a message matches, by link."""
        found: dict[int, list[int]] = {}
        for slot in self.table.match(content.members):
            link, id = self._slots.holder(slot)
            found.setdefault(link, []).append(id)
        if LOADED in found:
            for link, id in self._listening:
                found.setdefault(link, []).append(id)
        return found

    def count(self, link: int) -> int:
        """Return how many subscriptions a client has."""
        return len(self._of.get(link, ())) + sum(listener == link for listener, _ in self._listening)

    def constraints(self, links: Iterable[int], link: int, id: int, predicate: Predicate) -> int:
        """Return how many constraints, with tags, a client with some links would have if it had this subscription."""
        before = _constraints(self._of.get(link, {}).get(id, ()))
        return sum(self._constraints[each] for each in links) - before + _constraints(predicate.filters)

    @property
    def loaded(self) -> Predicate | None:
        """The predicate that was loaded; None if there is none."""
        return Predicate(self._of[LOADED][0]) if LOADED in self._of else None

    @property
    def loaded_count(self) -> int:
        """How many filters were loaded."""
        return len(self._of[LOADED][0]) if LOADED in self._of else 0

    def all(self) -> Iterable[tuple[int, int, Predicate]]:
        """Yield link, id and predicate of each subscription."""
        for link, by_id in self._of.items():
            for id, filters in by_id.items():
                yield link, id, Predicate(filters)

    def __len__(self) -> int:
        return len(self._slots) - (LOADED in self._of) + len(self._listening)

    # --- changes

    def listen(self, link: int, id: int) -> None:
        """Add a subscription to what is delivered to the loaded predicate."""
        self.remove(link, id)
        self._listening[link, id] = None

    def set(self, link: int, id: int, predicate: Predicate) -> None:
        """Add a subscription, or give it another predicate."""
        self.changes += 1
        self._listening.pop((link, id), None)
        before = self._of.setdefault(link, {}).get(id, {})
        after = dict.fromkeys(map(canonical_filter, predicate.filters))
        slot = self._slots.take((link, id))
        self._of[link][id] = after
        self._constraints[link] += _constraints(after) - _constraints(before)
        for filter in after:
            if filter not in before:
                self.table.add(slot, filter)
                self.announcement.add(filter)
                self.size += len(filter_to_bytes(filter))
        gone = [filter for filter in before if filter not in after]
        self._take_out(slot, gone)
        self.announcement.remove(*gone)

    def remove(self, link: int, id: int) -> bool:
        """Remove a subscription; return whether there was one."""
        if (link, id) in self._listening:
            del self._listening[link, id]
            return True
        if id not in self._of.get(link, {}):
            return False
        self.announcement.remove(*self._removed(link, id))
        return True

    def closed(self, link: int) -> None:
        """Remove all subscriptions of a client."""
        self.announcement.remove(*(filter for id in list(self._of.get(link, ())) for filter in self._removed(link, id)))
        self._of.pop(link, None)
        self._constraints.pop(link, None)
        self._listening = {listener: None for listener in self._listening if listener[0] != link}

    def _removed(self, link: int, id: int) -> Iterable[Filter]:
        """Forget a subscription; return its filters, which are still announced."""
        self.changes += 1
        filters = self._of[link].pop(id)
        self._constraints[link] -= _constraints(filters)
        self._take_out(self._slots.give_back((link, id)), filters)
        return filters

    def _take_out(self, slot: int, filters: Iterable[Filter]) -> None:
        for filter in filters:
            self.table.remove(slot, filter)
            self.size -= len(filter_to_bytes(filter))


def _constraints(filters: Iterable[Filter]) -> int:
    """Return what filters count for: their constraints and tags, and at least one each."""
    return sum(max(1, len(filter.constraints) + len(filter.tags)) for filter in filters)
