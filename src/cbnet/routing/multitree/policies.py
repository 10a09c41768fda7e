"""Policies that commit a new message to one tree, and choose one of several neighbours for a request [2014 §3].

The paper leaves both to the operator of the network. A message is committed [§3.1] to

    random    a random tree for each message: spreads the load most evenly
    flow      by a hash of the source, and of the tags and attribute names of the message: the messages of a flow
              take the same path and arrive in order
    least     the tree with the shortest total path length from the source to all destinations, and so the least
              expected extra length: one tree for each source
    own       the tree rooted at the source, as a popular producer has one; other sources as with `least`

A request goes to

| policy  | neighbour                                                    |
|---------|--------------------------------------------------------------|
| nearest | toward the nearest holder, which the tables list first       |
| random  | a random one                                                 |
| least   | the one to which this router has sent the fewest requests    |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from random import Random
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import member_of
from cbnet.language.message import Message
from cbnet.routing.multitree.tree_sides import lengths_on_tree
from cbnet.topology import Tree

Ids: TypeAlias = NDArray[np.int32]


class CommitPolicy(ABC):
    """A policy that commits messages to trees."""

    name: ClassVar[str]

    def __init__(self, trees: Sequence[Tree], destinations: Ids, seed: int) -> None:
        """Set the trees, and the nodes that may receive messages: int32[destinations]."""
        self._trees = trees
        self._destinations = destinations
        self._seed = seed
        self._rng = Random(f"commit {seed}")
        self._best: dict[int, int] = {}  # trees by source, as they are found

    @abstractmethod
    def tree(self, u: int, message: Message) -> int:
        """Return the number of the tree for a new message of node u."""


class RandomTree(CommitPolicy):
    """A random tree for each message."""

    name = "random"

    def tree(self, u: int, message: Message) -> int:  # noqa: ARG002
        """Return the number of a random tree."""
        return self._rng.randrange(len(self._trees))


class FlowTree(CommitPolicy):
    """The same tree for all messages of a flow."""

    name = "flow"

    def tree(self, u: int, message: Message) -> int:
        """Return the tree by a hash of the flow, the same in every process."""
        flow = repr((self._seed, u, sorted(message.attributes), sorted(message.tags)))
        return int.from_bytes(blake2b(flow.encode(), digest_size=8).digest()) % len(self._trees)


class ShortestTree(CommitPolicy):
    """The tree with the least total path length from the source; the first in case of a tie."""

    name = "least"

    def tree(self, u: int, message: Message) -> int:  # noqa: ARG002
        """Return the tree of the source. Distances in the graph do not matter: they are the same for all trees."""
        if u not in self._best:
            totals = [int(lengths_on_tree(tree, u, self._destinations).sum()) for tree in self._trees]
            self._best[u] = totals.index(min(totals))
        return self._best[u]


class OwnTree(ShortestTree):
    """The tree rooted at the source, or else the one with the least total path length."""

    name = "own"

    def tree(self, u: int, message: Message) -> int:
        """Return the first tree rooted at the source, or else the shortest."""
        own = next((number for number, tree in enumerate(self._trees) if tree.root == u), None)
        return super().tree(u, message) if own is None else own


_POLICIES = {kind.name: kind for kind in (RandomTree, FlowTree, ShortestTree, OwnTree)}
COMMIT_POLICIES = tuple(_POLICIES)


def commit_policy(name: str) -> type[CommitPolicy]:
    """Return a policy by name."""
    return member_of(_POLICIES, name, "commit policy")


class HolderChoice(ABC):
    """The policy of one router."""

    name: ClassVar[str]

    def __init__(self, u: int, seed: int) -> None:
        self._rng = Random(f"choice {seed} {u}")
        self.sent: Counter[int] = Counter()  # requests by neighbour

    @abstractmethod
    def choose(self, neighbours: Sequence[int]) -> int:
        """Return one of the neighbours, which come nearest first if distances are known, else ascending."""


class NearestHolder(HolderChoice):
    """The neighbour toward the nearest holder."""

    name = "nearest"

    def choose(self, neighbours: Sequence[int]) -> int:
        """Return the first neighbour."""
        return neighbours[0]


class RandomHolder(HolderChoice):
    """A random neighbour."""

    name = "random"

    def choose(self, neighbours: Sequence[int]) -> int:
        """Return a random neighbour."""
        return self._rng.choice(neighbours)


class LeastLoadedHolder(HolderChoice):
    """The neighbour that received the fewest requests."""

    name = "least"

    def choose(self, neighbours: Sequence[int]) -> int:
        """Return the neighbour with the fewest requests, the first in case of a tie, and count the request."""
        chosen = min(neighbours, key=self.sent.__getitem__)
        self.sent[chosen] += 1
        return chosen


_HOLDER_CHOICES = {kind.name: kind for kind in (NearestHolder, RandomHolder, LeastLoadedHolder)}
HOLDER_CHOICES = tuple(_HOLDER_CHOICES)


def holder_choice(name: str) -> type[HolderChoice]:
    """Return a policy by name."""
    return member_of(_HOLDER_CHOICES, name, "choice")
