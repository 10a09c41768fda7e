"""Table folding: the tables of several trees merged into one with tree tags [2014 §3.2.3].

A filter is stored once for each tree that has it at the same interface, and requires the tag of that tree; or once
without a tree tag, if every tree leads its messages to that interface:

    T1   c: p ∨ q        f: r                    c: p ∨ (#T1 ∧ q)
    T2   c: p            e: q ∨ r        ──►     f: #T1 ∧ r            a message on T1 is matched with T1 added
                                                 e: (#T2 ∧ q) ∨ (#T2 ∧ r)          to its tags

Any filter can require a tag, so predicates with constraints fold as descriptors do. A tree need not have the filter
itself: one that covers it is enough. The same step folds the tables of subscriptions and offers, by message kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.relations.covering import FilterAnalysis
from cbnet.language.relations.reduction import reduce
from cbnet.language.roles import MessageKind, Registration
from cbnet.matching import Table

Key = TypeVar("Key")

TREE_TAG = "tree "  # prefix of a tree's tag in a folded table, before its number from 1
_KINDS = (MessageKind.NOTIFICATION, MessageKind.REQUEST)


def fold(tables: Mapping[str, Mapping[Key, Predicate]]) -> dict[Key, Predicate]:
    """Return one table for several tables, keyed by tags that must not occur in their filters.

    A message m matches an interface in the table of tag t if and only if m with the tag t, and no other
    of these tags, matches it in the folded table.
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
        analysis = FilterAnalysis(filter)
        lacking = [predicate for tag, predicate in kept.items() if filter not in owned[tag]]
        if all(any(map(analysis.implies, predicate.filters)) for predicate in lacking):
            entries.append(filter)
        else:
            entries.extend(filter & Filter(tags=[tag]) for tag in kept if filter in owned[tag])
    return reduce(Predicate(entries))


def unused_tags(stem: str, count: int, predicates: Iterable[Predicate]) -> list[str]:
    """Return `count` tags that no filter names: the stem and a number."""
    taken = {tag for predicate in predicates for filter in predicate.filters for tag in filter.tag_names}
    while any(tag.startswith(stem) for tag in taken):
        stem = f"_{stem}"
    return [f"{stem}{number}" for number in range(1, count + 1)]


class FoldedFib:
    """The forwarding tables of a router for all trees, subscriptions and offers, as one table.

    The tag of a kind of message is needed only where both subscriptions and offers are registered.
    """

    def __init__(self, tables: Sequence[Mapping[int, Registration]]) -> None:
        """Fold the tables of the trees, one for each."""
        by_role = {
            kind: [{w: own for w, each in table.items() if len(own := each.predicate_for(kind))} for table in tables]
            for kind in _KINDS
        }
        predicates = [predicate for own in by_role.values() for table in own for predicate in table.values()]
        tree_tags, kind_tags = unused_tags(TREE_TAG, len(tables), predicates), unused_tags("kind ", 2, predicates)
        by_kind = {kind: fold(dict(zip(tree_tags, own, strict=True))) for kind, own in by_role.items() if any(own)}
        self.tree_tags = tree_tags
        self.kind_tags = dict(zip(by_kind, kind_tags, strict=False))  # only for kinds with registrations
        self.entries: dict[int, Predicate] = fold({self.kind_tags[kind]: table for kind, table in by_kind.items()})

    def __len__(self) -> int:
        return sum(map(len, self.entries.values()))

    def match(self, tree: int, message: Message, kind: MessageKind = MessageKind.NOTIFICATION) -> list[int]:
        """Return the neighbours that a message on a tree matches."""
        if kind not in self.kind_tags:
            return []
        others = message.tags.difference(self.tree_tags, self.kind_tags.values())  # these are reserved for the table
        return self._table.match(Message(message.attributes, others | {self.tree_tags[tree], self.kind_tags[kind]}))

    @cached_property
    def _table(self) -> Table[int]:
        return Table.build(self.entries, reduce=False)
