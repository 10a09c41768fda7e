"""The domains scheme: parts of a network with their own trees, and gateways that switch trees [2014 §3.1].

    source ─ tree in A ─► gateway ║ gateway ─ tree in B ─► gateway ║ gateway ─ tree in C ─►
             ⟨τ, a, last hop⟩     ║           ⟨τ, b, last hop⟩     ║

A message is committed to a tree τ between domains (`domain_trees`) and to a tree inside the domain of its source. The
gateway where it enters another domain commits it to the tree of that domain with the shortest total path length from
there. All links that it may then use, inside domains and between them, form one tree over all nodes, so every
interested node is reached once.

Inside its domain a router knows the predicates of the receivers. About the outside it knows the summaries of its
gateways, which cover the predicates beyond them. The summary `all` is one word, whatever the predicates
outside; the cost is that every message reaches the gateways, which match the predicates themselves. No spurious packet
crosses a border.

A summary is a wider predicate that gateways announce inside. It is smaller, but lets more spurious messages reach the
gateway, which always matches the predicates themselves before it forwards to another domain.

| summary | of `x > 3 and #a or y = 1 and x = 2`  | messages that reach a gateway                     |
|---------|---------------------------------------|---------------------------------------------------|
| exact   | the same                              | those that match outside                          |
| names   | `exists x and #a or exists x and exists y` | those with all names and tags of a filter outside |
| all     | `true`                                | all, if there are predicates outside              |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isqrt
from typing import NamedTuple, TypeAlias

from cbnet.errors import InputError, member_of
from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.routing.forwarding_table import ForwardingTable, SharedTables
from cbnet.routing.interests import Interests
from cbnet.routing.multitree.policies import ShortestTree, commit_policy
from cbnet.routing.network import Network
from cbnet.routing.router_state import RouterState
from cbnet.routing.scheme import Header, Scheme, SchemeRouter
from cbnet.routing.schemes.domain_trees import Domain, DomainReceivers, DomainTree, Ids
from cbnet.topology import shortest_path_trees
from cbnet.topology.domains import grow_domains, validate_domains

_ANY = Message()  # a gateway commits all messages that enter through it to the same tree


class DomainsHeader(NamedTuple):
    """The header of a notification."""

    between: int  # the tree between domains
    inside: int  # the tree inside the domain of the last hop
    last_hop: int


class DomainsRouter(SchemeRouter):
    """A router of a domain; at a gateway, with tables for the border."""

    def __init__(self, scheme: Domains, u: int) -> None:
        super().__init__(scheme.network, u)
        self._scheme = scheme
        self._number = int(scheme.domains[u])
        self._domain = scheme.parts[self._number]
        self._inner = SharedTables(scheme.interests)
        self._border = SharedTables(scheme.interests)

    def init(self, message: Message) -> Header:
        """Commit a new message to a tree between domains, and to one inside."""
        between = self._scheme.commit_between.tree(self.u, message)
        inside = self._scheme.commit_inside[self._number].tree(self._domain.local_id(self.u), message)
        return DomainsHeader(between, inside, self.u)

    def hdr(self, header: Header, neighbour: int) -> Header:  # noqa: ARG002
        """Return the header with this node as the last hop, and the tree inside this domain."""
        return header._replace(inside=self._inside(header), last_hop=self.u)

    def fwd(self, header: Header, message: Message) -> list[int]:
        """Return the neighbours that match, inside and outside the domain, except the last hop."""
        tables = self.inner(header.between, self._inside(header)), self.border(header.between)
        return [w for table in tables for w in table.match(message) if w != header.last_hop]

    def _inside(self, header: DomainsHeader) -> int:
        """Return the tree inside: the header's, or at a gateway its own choice for messages from other domains."""
        if self._scheme.domains[header.last_hop] == self._number:
            return header.inside
        return self._scheme.entry_tree[self._number].tree(self._domain.local_id(self.u), _ANY)

    def inner(self, between: int, inside: int) -> ForwardingTable:
        """Return the table of the neighbours in the domain, for a tree between domains and one inside."""
        if (between, inside) not in self._inner:
            outside = self._scheme.outside
            behind = self._domain.behind(self.u, between, inside)
            seen = {w: (each.inside, tuple(outside[x] for x in each.outside)) for w, each in behind.items()}
            self._inner.add((between, inside), seen)
        return self._inner[between, inside]

    def border(self, between: int) -> ForwardingTable:
        """Return the table of the neighbours in other domains, for a tree between them; empty except at a gateway."""
        if between not in self._border:
            across = self._domain.across(self.u, between)
            self._border.add(between, {w: (beyond, ()) for w, beyond in across.items()})
        return self._border[between]

    def state(self) -> RouterState:
        """Return the size of the tables, of the router's own identifier, and of a gateway's choice of a tree."""
        inside = len(self._domain.trees)
        for between in range(len(self._scheme.between)):
            self.border(between)
            for tree in range(inside):
                self.inner(between, tree)
        choice = (inside - 1).bit_length() if self.u in self._domain.gateways else 0
        return RouterState(identifiers=1, flags=choice) + self._inner.state() + self._border.state()


class Domains(Scheme):
    """Routing along the trees of domains, and along trees between them."""

    name = "domains"

    def __init__(
        self,
        network: Network,
        domains: Sequence[object] | None = None,
        roots: Iterable[int] | None = None,
        between: Sequence[int] | None = None,
        *,
        outside: str = "all",
        commit: str = "random",
        seed: int = 0,
    ) -> None:
        """Build the trees from the domain of each node, and the roots of trees inside domains and between them.

        By default √n domains are grown (`topology.domains`). A root belongs to the tree of its own domain; the
        default root of a domain, and of the network, is the node with the most neighbours. `outside` names a summary
        and `commit` the policy of sources, with a `seed`.
        """
        super().__init__(network)
        graph = network.graph
        self.domains = (
            grow_domains(graph, isqrt(len(graph))) if domains is None else validate_domains(graph, [*domains])
        )
        count = int(self.domains.max()) + 1
        between = [int(graph.degrees.argmax())] if between is None else [*between]
        if not between:
            raise InputError("there is no tree between domains", hint="give at least one root")
        trees = list(shortest_path_trees(graph, between if count > 1 else between[:1]))  # one domain needs none
        self.between = [DomainTree(tree, self.domains) for tree in trees]
        receivers = DomainReceivers(network.receivers, self.domains)
        own = _by_domain(network, self.domains, roots or ())
        self.parts = [
            Domain(graph, number, self.domains, own[number], self.between, receivers) for number in range(count)
        ]
        self.outside = {x: len(network) + x for x in network.predicates}  # the number of a receiver's summary
        summarise = summary(outside)
        seen = {self.outside[x]: summarise(predicate) for x, predicate in network.predicates.items()}
        self.interests = Interests(network.predicates | seen)
        policy = commit_policy(commit)
        self.commit_between = policy(trees, network.receivers, seed - 1)
        self.commit_inside = [
            policy(part.trees, part.destinations, seed + number) for number, part in enumerate(self.parts)
        ]
        self.entry_tree = [ShortestTree(part.trees, part.destinations, seed) for part in self.parts]

    @property
    def gateways(self) -> list[int]:
        """The routers that have a link to another domain on any tree, ascending."""
        return sorted(u for part in self.parts for u in part.gateways)

    def _new_router(self, u: int) -> SchemeRouter:
        return DomainsRouter(self, u)

    def state(self, sample: Sequence[int] | None = None) -> RouterState:
        """Return the state of all routers; given a sample, only gateways are counted and the others extrapolated."""
        if sample is None:
            return super().state()
        gateways = set(self.gateways)
        counted = [u for u in sample if u not in gateways]
        others = len(self.network) - len(gateways)
        return self.state_at(gateways) + self.state_at(counted).scaled(others / max(1, len(counted)))


def _by_domain(network: Network, domains: Ids, roots: Iterable[int]) -> list[list[int]]:
    """Return the roots in each domain."""
    by_domain: list[list[int]] = [[] for _ in range(int(domains.max()) + 1)]
    for root in roots:
        if not 0 <= root < len(network):
            raise InputError(f"a root must be a node from 0 to {len(network) - 1}")
        by_domain[domains[root]].append(int(root))
    return by_domain


Summary: TypeAlias = Callable[[Predicate], Predicate]


def _names(predicate: Predicate) -> Predicate:
    """Return the predicate with every constraint widened to the existence of its attribute."""
    return Predicate(
        Filter([Constraint(name, Op.EXISTS, None) for name in sorted({each.name for each in filter.constraints})],
               filter.tags)
        for filter in predicate.filters
    )  # fmt: skip


_SUMMARIES: dict[str, Summary] = {
    "exact": lambda predicate: predicate,
    "names": _names,
    "all": lambda predicate: Predicate([Filter()] if predicate.filters else []),
}
SUMMARIES = tuple(_SUMMARIES)


def summary(name: str) -> Summary:
    """Return a summary by name."""
    return member_of(_SUMMARIES, name, "summary")
