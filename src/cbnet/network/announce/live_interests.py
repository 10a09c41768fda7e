"""Live interests: who wants a message now? What the schemes ask, answered by a table that changes under them.

`routing.interests` numbers the filters of all receivers, which do not change, and a disjunction is a set of filters.
Here a disjunction is a set of receivers, the bits of one int: a table of a router then says which nodes are
behind each neighbour, and stays right when a node changes its predicate.

    receivers     a: 0b001     b: 0b010     c: 0b100
    b ∨ c         0b110                                 matches if one of both wants the message now
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
    """The predicates of the nodes of one graph, as they are at the moment."""

    def __init__(self, nodes: Sequence[str], predicates: NodePredicates) -> None:
        """Take the names of the nodes by id."""
        self._nodes = nodes
        self._predicates = predicates
        self._ids = {name: id for id, name in enumerate(nodes)}
        self._answer: int | None = None

    def of(self, receiver: int) -> int:
        """Return the set of one receiver."""
        return 1 << receiver

    def disjunction(self, predicates: Iterable[int]) -> int:
        """Return the union of sets of receivers."""
        return reduce(or_, predicates, 0)

    def matched(self, message: Message) -> int:
        """Return the receivers that want a message, or those that are supposed to."""
        return self.wanting(cast(Content, message)) if self._answer is None else self._answer

    def wanting(self, content: Content) -> int:
        """Return the receivers that want a message."""
        bits = 0
        for slot in self._predicates.matched(content):
            id = self._ids.get(self._predicates.slots.holder(slot))
            if id is not None:  # else a node that cannot be reached
                bits |= 1 << id
        return bits

    @property
    def are_first(self) -> bool:
        """Whether all want what they wanted at the start, and nothing is supposed."""
        return self._answer is None and not self._predicates.changes

    def suppose(self, receivers: int | None) -> None:
        """Answer, whatever the message, that these want it; None: answer as it is."""
        self._answer = receivers

    def interested(self, message: Message) -> set[int]:
        """Return the receivers that want a message, by id."""
        return set(set_bits(self.matched(message)))

    def predicate(self, bits: int) -> Predicate:
        """Return the disjunction of the predicates of some receivers."""
        return Predicate(filter for id in set_bits(bits) for filter in self._predicates.predicate(self._nodes[id]))

    def words(self, bits: int) -> int:
        """Return the words of a disjunction, which is not reduced further than each predicate is by its owner."""
        return sum(map(filter_words, self.predicate(bits).filters))

    def unreduced_words(self, receiver: int) -> int:
        """Return the words of a receiver's predicate as it was announced."""
        return self.words(self.of(receiver))
