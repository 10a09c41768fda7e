"""CommitPolicy: which tree does a new message take, and keeps to the end? [2014 §3.1]

The paper leaves the choice to whoever runs the network. Here:

    random    any tree, each time anew: spreads the load most evenly
    flow      by a hash of the source and of what the message is about, its tags and the names of its attributes:
              messages of one flow take one way, and arrive in their order
    least     the tree on which the ways from the source to all destinations are shortest together, and so
              the expected extra length: each source has its tree
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from hashlib import blake2b
from random import Random
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.language.message import Message
from cbnet.routing.multitree.tree_sides import lengths_on_tree
from cbnet.topology import Tree

Ids: TypeAlias = NDArray[np.int32]


class CommitPolicy(ABC):
    """A policy that commits messages to trees."""

    name: ClassVar[str]

    def __init__(self, trees: Sequence[Tree], destinations: Ids, seed: int) -> None:
        """Take the trees, and the nodes that messages may be for: int32[destinations]."""
        self._trees = trees
        self._destinations = destinations
        self._seed = seed

    @abstractmethod
    def tree(self, u: int, message: Message) -> int:
        """Return the number of the tree for a new message of node u."""


class RandomTree(CommitPolicy):
    """Any tree."""

    name = "random"

    def __init__(self, trees: Sequence[Tree], destinations: Ids, seed: int) -> None:
        super().__init__(trees, destinations, seed)
        self._rng = Random(f"commit {seed}")

    def tree(self, u: int, message: Message) -> int:  # noqa: ARG002
        """Return a random number."""
        return self._rng.randrange(len(self._trees))


class FlowTree(CommitPolicy):
    """The same tree for all messages of a flow."""

    name = "flow"

    def tree(self, u: int, message: Message) -> int:
        """Return a hash of the flow, the same in every process."""
        flow = repr((self._seed, u, sorted(message.attributes), sorted(message.tags)))
        return int.from_bytes(blake2b(flow.encode(), digest_size=8).digest()) % len(self._trees)


class ShortestTree(CommitPolicy):
    """The tree with the least expected extra length from the source; of several, the first."""

    name = "least"

    def __init__(self, trees: Sequence[Tree], destinations: Ids, seed: int) -> None:
        super().__init__(trees, destinations, seed)
        self._best: dict[int, int] = {}

    def tree(self, u: int, message: Message) -> int:  # noqa: ARG002
        """Return the best tree of the source. Distances in the graph are the same for all, and need not be known."""
        if u not in self._best:
            totals = [int(lengths_on_tree(tree, u, self._destinations).sum()) for tree in self._trees]
            self._best[u] = totals.index(min(totals))
        return self._best[u]


_POLICIES = {kind.name: kind for kind in (RandomTree, FlowTree, ShortestTree)}
COMMIT_POLICIES = tuple(_POLICIES)


def commit_policy(name: str) -> type[CommitPolicy]:
    """Return a policy by its name."""
    if name not in _POLICIES:
        raise InputError(f"unknown commit policy {name!r}", hint="use one of " + ", ".join(COMMIT_POLICIES))
    return _POLICIES[name]
