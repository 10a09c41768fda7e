"""The multi-tree scheme: a few trees over the whole network, each with its own forwarding state [2014 §3].

A message is committed to one tree and stays on it. Trees are undirected: messages enter anywhere, and router u has for
each tree T and each neighbour w on it the disjunction of the predicates behind w:

    P_u(T, w) = ⋁ pred(x), x on the side of w when the link (u, w) is cut out of T

    notification   ⟨T, last hop⟩               to all neighbours on T that match, but not back
    request        ⟨T, last hop, requester⟩    to one of them, until it reaches a node whose offer matches
    reply          ⟨T, requester⟩              to the requester, by its locator

Forwarding does not depend on the source, so there is no state per source, at the cost of longer paths. Trees that are
indistinguishable at u share a table there (`grouping`). One table holds subscriptions and offers: `fib`, or `folded`
as in [2014 §3.2.3]. The policies are in `policies`. The paper has no formula.

A locator is an address on a tree that leads a reply to the requester without state in routers. A request carries the
locator of its requester, and the reply is forwarded to it. [2014] leaves this open; this is our choice. The locator of
a node is its position in the preorder of the tree, so a subtree is an interval:

    u, 4 to 9                  children divide the interval of their parent:
    ├── v, 5 to 7              a router stores the start of each child's interval,
    └── w, 8 to 9              and both ends of its own; all else is behind its parent

A router stores an interval for each neighbour on the tree, and nothing for each request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np

from cbnet.errors import InputError
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.relations.covering import PredicateLike, as_predicate
from cbnet.language.roles import Registration
from cbnet.routing.interests import Interests
from cbnet.routing.multitree.folding import FoldedFib
from cbnet.routing.multitree.grouping import TreeClasses
from cbnet.routing.multitree.policies import commit_policy, holder_choice
from cbnet.routing.multitree.tree_interests import RouterTables, TreeInterests
from cbnet.routing.network import Network
from cbnet.routing.router_state import RouterState
from cbnet.routing.scheme import Header, Scheme, SchemeRouter
from cbnet.topology import ROOT, Tree, shortest_path_trees


class NotificationHeader(NamedTuple):
    """The header of a notification."""

    tree: int
    last_hop: int


class RequestHeader(NamedTuple):
    """The header of a request."""

    tree: int
    last_hop: int
    requester: int  # its locator on the tree


class ReplyHeader(NamedTuple):
    """The header of a reply."""

    tree: int
    requester: int


class MultiTreeRouter(SchemeRouter):
    """A router with a table for each class of trees."""

    def __init__(self, scheme: MultiTree, u: int) -> None:
        super().__init__(scheme.network, u)
        self._scheme = scheme
        self._choice = scheme.choice(u, scheme.seed)
        self._subscriptions = RouterTables(scheme.subscriptions, u)
        self._offers = RouterTables(scheme.offers, u)

    def init(self, message: Message) -> Header:
        """Commit a new notification to a tree."""
        return NotificationHeader(self._scheme.commit_notification.tree(self.u, message), self.u)

    def init_request(self, request: Message) -> RequestHeader:
        """Commit a new request to a tree; the header carries the locator of this node."""
        tree = self._scheme.commit_request.tree(self.u, request)
        return RequestHeader(tree, self.u, locator(self._scheme.trees[tree], self.u))

    def init_reply(self, header: RequestHeader) -> ReplyHeader:
        """Return the header of the reply to a request with this header."""
        return ReplyHeader(header.tree, header.requester)

    def hdr(self, header: Header, neighbour: int) -> Header:  # noqa: ARG002
        """Return the header with this node as the last hop; the header of a reply is unchanged."""
        return header if isinstance(header, ReplyHeader) else header._replace(last_hop=self.u)

    def fwd(self, header: Header, message: Message) -> list[int]:
        """Return the neighbours that match; for a request or a reply, one at most."""
        if isinstance(header, ReplyHeader):
            hop = next_hop(self._scheme.trees[header.tree], self.u, header.requester)
            return [] if hop is None else [hop]
        if isinstance(header, RequestHeader):
            matching = () if self.has(message) else self._offers[header.tree].match(message)
            neighbours = [w for w in matching if w != header.last_hop]
            return [self._choice.choose(neighbours)] if neighbours else []
        return [w for w in self._subscriptions[header.tree].match(message) if w != header.last_hop]

    def has(self, request: Message) -> bool:
        """Return whether an offer of this node matches a request."""
        return self._scheme.offers.predicates.get(self.u, Predicate()).matches(request)

    def fib(self, tree: int) -> dict[int, Registration]:
        """Return the forwarding table for a tree: the reduced registrations behind each neighbour."""
        scheme, nothing = self._scheme, Predicate()
        subscriptions, offers = (each.disjunctions(self.u, tree) for each in (scheme.subscriptions, scheme.offers))
        neighbours = sorted({*subscriptions, *offers})
        return {w: Registration(subscriptions.get(w, nothing), offers.get(w, nothing)) for w in neighbours}

    def folded(self) -> FoldedFib:
        """Return one forwarding table for all trees."""
        return FoldedFib([self.fib(tree) for tree in range(len(self._scheme.trees))])

    def state(self) -> RouterState:
        """Return the size of the tables and of the router's own identifier, and of locators if there are offers."""
        trees = self._scheme.trees if self._scheme.offers.predicates else ()
        intervals = sum(stored_identifiers(tree, self.u) for tree in trees)
        own = RouterState(identifiers=1 + intervals, flags=self._scheme.classes.bits(self.u))
        return own + self._subscriptions.state() + self._offers.state()


class MultiTree(Scheme):
    """Routing along several trees."""

    name = "multitree"

    def __init__(
        self,
        network: Network,
        roots: Sequence[int] | None = None,
        *,
        offers: Mapping[int, PredicateLike] | None = None,
        commit: str = "random",
        choice: str = "nearest",
        seed: int = 0,
    ) -> None:
        """Build the trees from their roots, by default the node with the most neighbours.

        The network holds the subscriptions, `offers` the offers of nodes. `commit` and `choice` name policies, with a
        `seed`.
        """
        super().__init__(network)
        self.roots = [int(np.argmax(network.graph.degrees))] if roots is None else list(roots)
        if not self.roots:
            raise InputError("a multi-tree network needs a tree", hint="give at least one root")
        self.trees = list(shortest_path_trees(network.graph, self.roots))
        self.seed = seed
        self.choice = holder_choice(choice)
        offered = self._checked(offers or {})
        self.classes = TreeClasses(self.trees, np.array([*network.predicates, *offered], dtype=np.int32))
        self.subscriptions = TreeInterests(self.classes, network.predicates, network.interests)
        self.offers = TreeInterests(self.classes, offered, Interests(offered), by_distance=choice == "nearest")
        self.commit_notification = commit_policy(commit)(self.trees, self.subscriptions.nodes, seed)
        self.commit_request = commit_policy(commit)(self.trees, self.offers.nodes, seed)

    def _checked(self, offers: Mapping[int, PredicateLike]) -> dict[int, Predicate]:
        for node in offers:
            if not 0 <= node < len(self.network):
                raise InputError(f"there is no node {node}", hint=f"ids are from 0 to {len(self.network) - 1}")
        return {x: as_predicate(offers[x]) for x in sorted(offers)}

    def router(self, u: int) -> MultiTreeRouter:
        """Return the router at a node."""
        return cast(MultiTreeRouter, super().router(u))

    def _new_router(self, u: int) -> SchemeRouter:
        return MultiTreeRouter(self, u)

    def state(self, sample: Sequence[int] | None = None) -> RouterState:
        """Return the state of all routers; given a sample, subscriptions are reduced there only."""
        if sample is None or self.offers.predicates:
            return super().state()
        nodes = range(len(self.network))
        own = RouterState(identifiers=len(nodes), flags=sum(map(self.classes.bits, nodes)))
        return (own + self.subscriptions.unreduced()).with_words(self.state_at(sample))


def locator(tree: Tree, u: int) -> int:
    """Return the locator of a node."""
    return int(tree.positions[u])


def next_hop(tree: Tree, u: int, locator: int) -> int | None:
    """Return the neighbour of u toward the node with a locator; None if that is u."""
    first = int(tree.positions[u])
    if locator == first:
        return None
    if not first < locator < first + int(tree.sizes[u]):
        return int(tree.parents[u])
    children = tree.children(u)
    return int(children[np.searchsorted(tree.positions[children], locator, side="right") - 1])


def stored_identifiers(tree: Tree, u: int) -> int:
    """Return the number of identifiers that u stores: its interval, its parent, and each child with its start."""
    return 2 + int(tree.parents[u] != ROOT) + 2 * len(tree.children(u))
