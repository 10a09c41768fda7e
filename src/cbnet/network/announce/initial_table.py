"""Forwarding table that the pipeline compiled for a router, used until something changes.

    tables/4.cbt     interface 13: #jazz and #vinyl, …      predicate behind each neighbour, on the first tree

The file is memory-mapped and verified. Before the router listens, the table is checked against the records: it must
forward each message to the same neighbours. Its filters have only tags, so both directions of the check are exact and
fast, by matching filters as if they were messages:

    each filter of a node behind w, as a message, matches interface w of the table      no delivery is missed
    each filter of interface w, as a message, matches a node behind w                   no delivery is spurious

The table is used as long as the links are those it was compiled for and no predicate has changed; then the records are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cbnet.errors import InputError
from cbnet.language.message import Message
from cbnet.matching import Table
from cbnet.network.announce.initial_predicates import InitialPredicates
from cbnet.network.announce.live_interests import LiveInterests
from cbnet.network.link.counters import Event
from cbnet.network.protocol.content import Content
from cbnet.routing.header import Header
from cbnet.routing.multitree.multitree import MultiTree, MultiTreeRouter, NotificationHeader

_HINT = "the router uses its records instead; run the pipeline again for a valid table"


@dataclass(frozen=True)
class InitialTable:
    """A table that agrees with the records, and the predicates and links it was compiled for."""

    table: Table[int]  # an interface is the index of a neighbour among all nodes
    predicates: InitialPredicates


def check_table(path: Path, predicates: InitialPredicates, behind: Mapping[str, Sequence[str]]) -> InitialTable:
    """Open a table and check it against the predicates; raise an `InputError` with the differences.

    behind: the nodes behind each neighbour on the first tree.
    """
    table = Table.open(path, verify=True)
    indexes = {name: index for index, name in enumerate(predicates.filters)}
    try:
        _check_interfaces(table, {indexes[name] for name in behind}, list(indexes))
        differences = [
            *_missed(table, predicates, behind, indexes),
            *_spurious(table, predicates, behind, indexes),
        ]
    except InputError as error:
        raise error.at(file=str(path)) from None
    if differences:
        more = f", and {len(differences) - 1:,} more" if len(differences) > 1 else ""
        raise InputError(f"the table disagrees with the predicates: {differences[0]}{more}", hint=_HINT, file=str(path))
    return InitialTable(table, predicates)


def _check_interfaces(table: Table[int], neighbours: set[int], names: Sequence[str]) -> None:
    for interface in table:
        if interface not in neighbours:
            known = isinstance(interface, int) and 0 <= interface < len(names)
            name = names[interface] if known else repr(interface)
            raise InputError(
                f"the table has an interface to {name}, which is no neighbour on the first tree", hint=_HINT
            )


def _missed(
    table: Table[int], predicates: InitialPredicates, behind: Mapping[str, Sequence[str]], indexes: Mapping[str, int]
) -> Iterator[str]:
    """Yield filters of nodes behind a neighbour that the table lacks."""
    for neighbour, nodes in behind.items():
        filters = [(node, tags) for node in nodes for tags in map(_tags, predicates.filters[node])]
        answers = table.match_many([{"#": tags} for _, tags in filters])
        for (node, tags), answer in zip(filters, answers, strict=True):
            if indexes[neighbour] not in answer:
                yield f"the interface to {neighbour} lacks {_text(tags)} of {node}"


def _spurious(
    table: Table[int], predicates: InitialPredicates, behind: Mapping[str, Sequence[str]], indexes: Mapping[str, int]
) -> Iterator[str]:
    """Yield filters of the table that match no node behind their neighbour."""
    for neighbour, nodes in behind.items():
        if indexes[neighbour] not in table:
            continue
        own = table[indexes[neighbour]]
        if any(filter.constraints or filter.conditions for filter in own):
            raise InputError("the table has filters with constraints, not only tags", hint=_HINT)
        receivers = {indexes[node] for node in nodes}
        filters = [sorted(filter.tags) for filter in own]
        for tags, answer in zip(filters, predicates.table.match_many([{"#": tags} for tags in filters]), strict=True):
            if receivers.isdisjoint(answer):
                yield f"the interface to {neighbour} has {_text(tags)}, which no node behind it has"


def _tags(encoded: bytes) -> list[str]:
    """Return the tags of an encoded filter: its members that are strings."""
    return [part for part in msgspec.msgpack.decode(encoded) if isinstance(part, str)]


def _text(tags: Sequence[str]) -> str:
    return str(Message(tags=tags)) or "every message"


class InitialTableRouter(MultiTreeRouter):
    """A router that matches by its initial table, as long as that agrees with the records."""

    def __init__(
        self, scheme: MultiTree, u: int, initial: InitialTable, interests: LiveInterests, counters: Counter[str]
    ) -> None:
        """Create a router; the scheme's graph must have the nodes and links of the table, in the same order."""
        super().__init__(scheme, u)
        self._table = initial.table
        self._interests = interests
        self._counters = counters

    def fwd(self, header: Header, message: Message) -> list[int]:
        """Return the next hops."""
        if type(header) is not NotificationHeader or header.tree or not self._interests.are_initial:
            return super().fwd(header, message)
        self._counters[Event.INITIAL_TABLE_MATCHES] += 1
        members = message.members if isinstance(message, Content) else message
        return [w for w in self._table.match(members) if w != header.last_hop]
