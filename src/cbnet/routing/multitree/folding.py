"""Folding: how do the tables of several trees become one? Table folding with tree tags [2014 §3.2.3].

A filter goes into the folded table once for each tree that has it at the same interface, with the tree's tag as one
more tag that it requires; once and for all, and without a tag, if every tree leads its messages there:

    T1   c: p ∨ q        f: r                    c: p ∨ (#T1 ∧ q)
    T2   c: p            e: q ∨ r        ──►     f: #T1 ∧ r            a message on T1 is matched as if it had
                                                 e: (#T2 ∧ q) ∨ (#T2 ∧ r)          the tag T1, too

Any filter can require a tag, so predicates with constraints fold as descriptors do. That every tree leads its messages
there does not mean that every tree has that very filter: one that covers it does as well. The same step folds the
tables of subscriptions and offers, by the kind of message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.relations.covering import Analysis
from cbnet.language.relations.reduction import reduce
from cbnet.language.roles import MessageKind, Registration
from cbnet.matching import Table

Key = TypeVar("Key")

_KINDS = (MessageKind.NOTIFICATION, MessageKind.REQUEST)


def fold(tables: Mapping[str, Mapping[Key, Predicate]]) -> dict[Key, Predicate]:
    """Return one table for several, each known by its tag, which must not occur in their filters.

    A message m matches an interface of the table of tag t if and only if m with the tag t, and no other
    of these tags, matches it in the folded one.
    """
    interfaces = dict.fromkeys(key for table in tables.values() for key in table)
    nothing = Predicate()
    return {key: _folded({tag: table.get(key, nothing) for tag, table in tables.items()}) for key in interfaces}


def _folded(predicates: Mapping[str, Predicate]) -> Predicate:
    """Return the predicate of one interface."""
    kept = {tag: reduce(predicate) for tag, predicate in predicates.items()}
    owned = {tag: frozenset(predicate.filters) for tag, predicate in kept.items()}
    entries: list[Filter] = []
    for filter in dict.fromkeys(filter for predicate in kept.values() for filter in predicate.filters):
        analysis = Analysis(filter)
        lacking = [predicate for tag, predicate in kept.items() if filter not in owned[tag]]
        if all(any(map(analysis.implies, predicate.filters)) for predicate in lacking):
            entries.append(filter)
        else:
            entries.extend(filter & Filter(tags=[tag]) for tag in kept if filter in owned[tag])
    return reduce(Predicate(entries))


def fresh_tags(stem: str, count: int, predicates: Iterable[Predicate]) -> list[str]:
    """Return so many tags that no filter has: the stem and a number."""
    taken = {tag for predicate in predicates for filter in predicate.filters for tag in filter.tags}
    while any(tag.startswith(stem) for tag in taken):
        stem = f"_{stem}"
    return [f"{stem}{number}" for number in range(1, count + 1)]


class FoldedFib:
    """The forwarding tables of a router for all trees, subscriptions and offers, as one table.

    The tag of a kind of message is needed only where both subscriptions and offers are registered.
    """

    def __init__(self, tables: Sequence[Mapping[int, Registration]]) -> None:
        """Take a table for each tree."""
        said = {kind: [_of_kind(table, kind) for table in tables] for kind in _KINDS}
        predicates = [predicate for own in said.values() for table in own for predicate in table.values()]
        tree_tags, kind_tags = fresh_tags("tree ", len(tables), predicates), fresh_tags("kind ", 2, predicates)
        by_kind = {kind: fold(dict(zip(tree_tags, own, strict=True))) for kind, own in said.items() if any(own)}
        self.tree_tags = tree_tags
        self.kind_tags = dict(zip(by_kind, kind_tags, strict=False))  # only of kinds that anything is registered for
        self.entries: dict[int, Predicate] = fold({self.kind_tags[kind]: table for kind, table in by_kind.items()})

    def __len__(self) -> int:
        return sum(map(len, self.entries.values()))

    def match(self, tree: int, message: Message, kind: MessageKind = MessageKind.NOTIFICATION) -> list[int]:
        """Return the neighbours that a message on a tree matches."""
        if kind not in self.kind_tags:
            return []
        others = message.tags.difference(self.tree_tags, self.kind_tags.values())  # no filter asks for them otherwise
        return self._table.match(Message(message.attributes, others | {self.tree_tags[tree], self.kind_tags[kind]}))

    @cached_property
    def _table(self) -> Table[int]:
        return Table.build(self.entries, reduce=False)


def _of_kind(table: Mapping[int, Registration], kind: MessageKind) -> dict[int, Predicate]:
    """Return the part of a table that a kind of message is matched with."""
    said = {neighbour: each.predicate_for(kind) for neighbour, each in table.items()}
    return {neighbour: predicate for neighbour, predicate in said.items() if len(predicate)}
