"""Traffic: who subscribes to what, what is published, and who must get it?

mixed     predicates and messages of a mix of the papers, some filters to a subscriber
keyed     N filters that no two have a message in common: every message matches exactly one of them
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.errors import CbnetError
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.parser import parse
from cbnet.matching import Table, reference

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ASKED = 1_000_000  # filters × messages that the reference is asked about: up to 4 µs each
_MOST_TOGETHER = 50  # filters in a subscription of keyed traffic
VENUES = ("XNYS", "XNAS", "XLON")


@dataclass(frozen=True)
class Traffic:
    """What the clients of a run say."""

    name: str
    subscribers: Sequence[Sequence[str]]  # the predicates of each
    contents: Sequence[dict[str, Any]]  # of the messages, in turn
    filters: int

    @property
    def predicates(self) -> list[tuple[int, str]]:
        """All predicates, each with its subscriber."""
        return [(subscriber, text) for subscriber, own in enumerate(self.subscribers) for text in own]


@dataclass(frozen=True)
class Wanted:
    """Who must get what: how often a message of each content must come to each subscriber."""

    counts: NDArray[np.uint16]  # uint16[contents, subscribers]
    asked: int  # contents that the reference was asked about; a table found the rest

    @property
    def deliveries(self) -> list[int]:
        """How many deliveries a message of each content causes."""
        found: list[int] = self.counts.sum(axis=1).tolist()
        return found


def mixed(name: str, subscribers: int, filters: int, contents: int, seed: int) -> Traffic:
    """Return the traffic of a mix, with so many filters for each subscriber."""
    from cbnet.lab.bench.oracle import Oracle
    from cbnet.lab.workload import as_messages, messages, mix
    from cbnet.lab.workload import filters as table_of

    parameters = mix(name, filters=subscribers * filters, interfaces=subscribers, messages=contents, seed=seed)
    predicates = Oracle(table_of(parameters)).all_predicates()
    texts = [[str(predicates[subscriber])] for subscriber in sorted(predicates)]
    return Traffic(f"predicates of the [{name}] mix", texts, as_messages(messages(parameters)), subscribers * filters)


def keyed(kind: str, filters: int, subscribers: int, contents: int) -> Traffic:
    """Return traffic whose filters ask for a value each (`equality`), or say the same in all other ways (`full`)."""
    said = [_equality(key) if kind == "equality" else _full(key) for key in range(filters)]
    own = [said[subscriber::subscribers] for subscriber in range(subscribers)]
    texts = [_together(each) for each in own]
    steps = [round(step * filters / contents) % filters for step in range(contents)]  # all keys alike, if there is room
    return Traffic(kind, texts, [content_of(key) for key in steps], filters)


def content_of(key: int) -> dict[str, Any]:
    """Return the message of keyed traffic that only the filter of this key matches."""
    return {"symbol": f"s{key:06d}.eq", "price": key + 0.5, "volume": 100 + key % 900, "venue": VENUES[key % 3]}


def _equality(key: int) -> str:
    return f'symbol = "{content_of(key)["symbol"]}"'


def _full(key: int) -> str:
    """Return a filter of several constraints; its operators depend on the key."""
    ways = (
        f'price >= {key} and price < {key + 1} and volume > 50 and venue ^= "X"',
        f'symbol ^= "s{key:06d}." and price > 0 and volume != 17',
        f'symbol = "s{key:06d}.eq" and price <= {key + 1} and venue *= "X"',
        f'symbol = "s{key:06d}.eq" and volume >= 100 and volume < 1000 and venue != "XPAR"',
    )
    return ways[key % len(ways)]


def _together(filters: Sequence[str]) -> list[str]:
    """Return predicates of many filters each."""
    return [" or ".join(filters[first : first + _MOST_TOGETHER]) for first in range(0, len(filters), _MOST_TOGETHER)]


def wanted(traffic: Traffic) -> Wanted:
    """Return who must get what: asked of the reference as far as there is time, else of a table that it agrees with."""
    parsed = [(subscriber, parse(text)) for subscriber, text in traffic.predicates]
    predicates: dict[int, Predicate] = {place: predicate for place, (_, predicate) in enumerate(parsed)}
    owners = [subscriber for subscriber, _ in parsed]
    counts = np.zeros((len(traffic.contents), len(traffic.subscribers)), np.uint16)
    asked = min(len(traffic.contents), max(1, _ASKED // max(1, traffic.filters)))
    table = None if asked == len(traffic.contents) else Table.build(predicates, engine="counting")
    for row, members in enumerate(traffic.contents):
        matched = [] if table is None else table.match(members)
        if row < asked:
            right = reference.match(predicates, Message.from_dict(members))
            if table is not None and set(right) != set(matched):
                raise CbnetError("the table and the reference differ: please report this")
            matched = right
        for place in matched:
            counts[row, owners[place]] += 1
    return Wanted(counts, asked)
