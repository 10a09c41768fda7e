"""The forwarding table of a router: a reduced disjunction of predicates for each neighbour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.routing.interests import Interests
from cbnet.routing.router_state import RouterState


class ForwardingTable:
    """A map of neighbours to the disjunction of the predicates of the receivers behind them."""

    __slots__ = ("_entries", "_interests", "receivers")

    def __init__(self, interests: Interests, receivers: Mapping[int, Iterable[int]]) -> None:
        self._interests = interests
        self.receivers = {neighbour: tuple(behind) for neighbour, behind in receivers.items()}
        self._entries = {
            neighbour: interests.disjunction(map(interests.of, behind)) for neighbour, behind in self.receivers.items()
        }

    def match(self, message: Message) -> list[int]:
        """Return the neighbours whose predicate the message matches."""
        matched = self._interests.matched(message)
        return [neighbour for neighbour, filters in self._entries.items() if filters & matched]

    def __getitem__(self, neighbour: int) -> Predicate:
        return self._interests.predicate(self._entries[neighbour])

    def __iter__(self) -> Iterator[int]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def state(self) -> RouterState:
        """Return the size of the table: a neighbour and its predicate in each entry."""
        interests = self._interests
        return RouterState(
            identifiers=len(self),
            words=sum(map(interests.words, self._entries.values())),
            unreduced_words=sum(interests.unreduced_words(x) for behind in self.receivers.values() for x in behind),
            unreduced_predicates=sum(map(len, self.receivers.values())),
        )
