"""First table: by what does a router match before anything has changed? By the table that the pipeline compiled for it.

    tables/4.cbt     interface 13: #jazz and #vinyl, …      what is wanted behind each neighbour, on the first tree

The file is mapped, and read through once to check that it is whole. Then it is checked against the records, before the
router listens: it must send each message to the neighbours that the records send it to, and to no others. The filters
of such a table have only tags. So both directions are exact, and quick, by matching filters as if they were messages:

    each filter of a node behind w, as a message, goes to w by the table        nobody misses anything
    each filter of the table at w, as a message, is wanted behind w             nothing goes astray

It serves as long as the links are those that it was made for, and no predicate has changed; then the records do.
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

_HINT = "the router goes on with its records; run the pipeline again to have a table that fits"


@dataclass(frozen=True)
class InitialTable:
    """A table that is what the records say, and the links that it was made for."""

    table: Table[int]  # an interface is the place of a neighbour among all nodes
    loaded: InitialPredicates


def check_table(path: Path, loaded: InitialPredicates, behind: Mapping[str, Sequence[str]]) -> InitialTable:
    """Open a table and check it; an `InputError` says how it differs.

    behind: the nodes behind each neighbour on the first tree.
    """
    table = Table.open(path, verify=True)
    places = {name: place for place, name in enumerate(loaded.written)}
    try:
        _check_interfaces(table, {places[name] for name in behind}, list(places))
        wrong = [*_missing(table, loaded, behind, places), *_astray(table, loaded, behind, places)]
    except InputError as error:
        raise error.at(file=str(path)) from None
    if wrong:
        more = f", and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
        raise InputError(f"the table is not what the predicates give: {wrong[0]}{more}", hint=_HINT, file=str(path))
    return InitialTable(table, loaded)


def _check_interfaces(table: Table[int], neighbours: set[int], names: Sequence[str]) -> None:
    for interface in table:
        if interface not in neighbours:
            known = isinstance(interface, int) and 0 <= interface < len(names)
            said = f"to {names[interface]}" if known else repr(interface)
            raise InputError(f"the table leads {said}, which is no neighbour on the first tree", hint=_HINT)


def _missing(
    table: Table[int], loaded: InitialPredicates, behind: Mapping[str, Sequence[str]], places: Mapping[str, int]
) -> Iterator[str]:
    """Yield what somebody behind a neighbour wants and the table does not send there."""
    for neighbour, nodes in behind.items():
        asked = [(node, tags) for node in nodes for tags in map(_tags, loaded.written[node])]
        answers = table.match_many([{"#": tags} for _, tags in asked])
        for (node, tags), answer in zip(asked, answers, strict=True):
            if places[neighbour] not in answer:
                yield f"it lacks {_said(tags)} of {node} at the interface to {neighbour}"


def _astray(
    table: Table[int], loaded: InitialPredicates, behind: Mapping[str, Sequence[str]], places: Mapping[str, int]
) -> Iterator[str]:
    """Yield what the table sends to a neighbour and nobody behind it wants."""
    for neighbour, nodes in behind.items():
        if places[neighbour] not in table:
            continue
        own = table[places[neighbour]]
        if any(filter.constraints for filter in own):
            raise InputError("the table has filters that are not of tags alone", hint=_HINT)
        wanting = {places[node] for node in nodes}
        asked = [sorted(filter.tags) for filter in own]
        for tags, answer in zip(asked, loaded.table.match_many([{"#": tags} for tags in asked]), strict=True):
            if wanting.isdisjoint(answer):
                yield f"nobody wants {_said(tags)} behind the interface to {neighbour}"


def _tags(written: bytes) -> list[str]:
    """Return the tags of a filter: those of its parts that are strings."""
    return [part for part in msgspec.msgpack.decode(written) if isinstance(part, str)]


def _said(tags: Sequence[str]) -> str:
    return str(Message(tags=tags)) or "every message"


class InitialTableRouter(MultiTreeRouter):
    """A router that matches by its first table, as long as that is what the records say."""

    def __init__(
        self, scheme: MultiTree, u: int, first: InitialTable, interests: LiveInterests, counters: Counter[str]
    ) -> None:
        """Take a scheme whose graph has the nodes and links that the table was made for, in the same order."""
        super().__init__(scheme, u)
        self._first = first.table
        self._interests = interests
        self._counters = counters

    def fwd(self, header: Header, message: Message) -> list[int]:
        """Return the neighbours that match."""
        if type(header) is not NotificationHeader or header.tree or not self._interests.are_first:
            return super().fwd(header, message)
        self._counters[Event.INITIAL_TABLE_MATCHES] += 1
        members = message.members if isinstance(message, Content) else message
        return [w for w in self._first.match(members) if w != header.last_hop]
