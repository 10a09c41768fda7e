"""Stand-in by brute force until the real Aggregation lands: on a rebase conflict keep the real file, drop this one."""
# ruff: noqa

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from cbnet.language.filter import Filter
from cbnet.language.relations.covering import FilterAnalysis, satisfiable
from cbnet.language.relations.reduction import reduce
from cbnet.network.protocol.filter_codec import canonical_filter, filter_from_bytes, filter_to_bytes


class Difference(NamedTuple):
    added: list[bytes]
    removed: list[bytes]


def normalised(filter: Filter) -> bytes | None:
    canonical = canonical_filter(filter)
    ordered = Filter(sorted(canonical.constraints), canonical.tags, sorted(canonical.conditions))
    r = next(iter(reduce(ordered)), None)
    return None if r is None or not satisfiable(r) else filter_to_bytes(r)


@lru_cache(None)
def covers(g: bytes, f: bytes) -> bool:
    return FilterAnalysis(filter_from_bytes(f)).implies(filter_from_bytes(g))


@lru_cache(None)
def order(f: bytes):
    x = filter_from_bytes(f)
    return (len(x.constraints) + len(x.tags) + len(x.conditions), f)


@lru_cache(None)
def dominates(g, f):
    return g != f and covers(g, f) and (not covers(f, g) or order(g) < order(f))


@lru_cache(100000)
def reduced(u: frozenset) -> frozenset:
    return frozenset(f for f in u if not any(dominates(g, f) for g in u))


class Aggregation:
    def __init__(self, table, slots):
        self._table, self._slots = table, slots
        self._s, self._bits, self._slot, self._t = {}, {}, {}, {}
        self.changes = 0

    def __len__(self):
        return len(set().union(*self._s.values()))

    def add_source(self, source, base=None, *, is_matched=True):
        self._s[source] = set()
        bit = 1
        while bit in self._bits.values():
            bit *= 2
        self._bits[source] = bit
        if is_matched:
            self._slot[source] = self._slots.take(source)
        if base is not None:
            self.change(source, self._s[base], ())

    def remove_source(self, source):
        self.change(source, (), list(self._s[source]))
        del self._s[source], self._bits[source]
        if self._slot.pop(source, None) is not None:
            self._slots.release(source)

    def change(self, source, added, removed):
        self.changes += 1
        own = self._s[source]
        for f in list(added):
            x = filter_from_bytes(f)
            if f not in own:
                own.add(f)
                if source in self._slot:
                    self._table.add(self._slot[source], x)
        for f in list(removed):
            if f in own:
                own.remove(f)
                if source in self._slot:
                    self._table.remove(self._slot[source], filter_from_bytes(f))
        for t in self._t.values():
            if source in t[0]:
                t[1] = self._content(t[0])

    def _content(self, sources):
        return reduced(frozenset().union(*(self._s[s] for s in sources)))

    def filters(self, source):
        return set(self._s[source])

    def count(self, source):
        return len(self._s[source])

    def bit(self, source):
        return self._bits[source]

    def matched(self, slots):
        bits = 0
        for slot in slots:
            h = self._slots.holder(slot)
            if type(h) is not tuple:
                bits |= self._bits[h]
        return bits

    def open(self, target, sources):
        self._t[target] = [tuple(sources), self._content(sources), frozenset()]

    def close(self, target):
        del self._t[target]

    def content(self, target):
        return set(self._t[target][1])

    def size(self, target):
        return len(self._t[target][1])

    def covered(self, target):
        union = frozenset().union(*(self._s[s] for s in self._t[target][0]))
        return len(union) - self.size(target)

    def nearest(self, target, others):
        own = self._t[target][1]
        best = min(others, key=lambda o: len(own ^ self._t[o][1]), default=None)
        return best if best is not None and len(own ^ self._t[best][1]) < len(own) else None

    def difference(self, target, base):
        was = self._t[base][2] if base is not None else frozenset()
        new = self._t[target][1]
        return Difference(sorted(new - was), sorted(was - new))

    def take(self, target):
        t = self._t[target]
        d = Difference(sorted(t[1] - t[2]), sorted(t[2] - t[1]))
        t[2] = t[1]
        return d

    def has_pending(self, target):
        t = self._t[target]
        return t[1] != t[2]

    def announced(self, target, f):
        own = self._t[target][1]
        return f if f in own else next((g for g in own if covers(g, f)), None)
