"""Interests of receivers whose predicates change while a scheme uses them.

In `routing.interests` predicates are fixed, and a disjunction is a set of filters. Here a disjunction is a set of
receivers, the bits of one int: a scheme's table then lists the nodes behind each neighbour, and stays valid when a
node changes its predicate.

    receivers     a: 0b001     b: 0b010     c: 0b100
    b ∨ c         0b110                                 matches if either predicate matches now
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import cast

from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.network.announce.node_predicates import NodePredicates
from cbnet.network.protocol.content import Content
from cbnet.routing.interests import Interests, filter_words, set_bits


class LiveInterests(Interests):
    """The present predicates of the nodes of one graph."""

    def __init__(self, nodes: Sequence[str], predicates: NodePredicates) -> None:
        self._nodes = nodes
        self._predicates = predicates
        self._ids = {name: id for id, name in enumerate(nodes)}
        self._assumed: int | None = None  # receivers, whatever the message

    def of(self, receiver: int) -> int:
        """Return the set of one receiver."""
        return 1 << receiver

    def disjunction(self, predicates: Iterable[int]) -> int:
        """Return the union of sets of receivers."""
        return reduce(or_, predicates, 0)

    def matched(self, message: Message) -> int:
        """Return the receivers of a message, or those that are assumed."""
        return self.receivers(cast(Content, message)) if self._assumed is None else self._assumed

    def receivers(self, content: Content) -> int:
        """Return the receivers whose predicate a message matches."""
        bits = 0
        for slot in self._predicates.matched(content):
            id = self._ids.get(self._predicates.slots.holder(slot))
            if id is not None:  # else the node is unreachable
                bits |= 1 << id
        return bits

    @property
    def are_initial(self) -> bool:
        """Whether no predicate has changed since the start, and no receivers are assumed."""
        return self._assumed is None and not self._predicates.changes

    def assume(self, receivers: int | None) -> None:
        """Return these receivers for any message from now on; None: match again."""
        self._assumed = receivers

    def interested(self, message: Message) -> set[int]:
        """Return the ids of the receivers of a message."""
        return set(set_bits(self.matched(message)))

    def predicate(self, bits: int) -> Predicate:
        """Return the disjunction of the predicates of some receivers."""
        return Predicate(filter for id in set_bits(bits) for filter in self._predicates.predicate(self._nodes[id]))

    def words(self, bits: int) -> int:
        """Return the words of a disjunction; only the owners have reduced its predicates."""
        return sum(map(filter_words, self.predicate(bits).filters))

    def unreduced_words(self, receiver: int) -> int:
        """Return the words of a receiver's announced predicate."""
        return self.words(self.of(receiver))
