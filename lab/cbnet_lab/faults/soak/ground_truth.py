"""The actual state of a network in memory, and whether all its routers know it.

Which routers run, which cables work, which clients are connected and what they want is read from the simulation, not
from the routers. The network has converged when

    every cable between two running routers works in both directions
    every client is connected, and its router has exactly its subscriptions and offers
    every router's newest version of the topology has the links that it can reach, and is complete
    no announcement is under way, and every interface wants what the clients behind it want, for each of some messages

and is quiet when, in addition, no router keeps an earlier version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.syntax.byte_form import filter_from_bytes
from cbnet.language.syntax.parser import parse
from cbnet.network import MemoryClient, MemoryNetwork, Router
from cbnet.network.announce.subscriptions import Subscriptions
from cbnet.network.linkstate.tree_view import TreeView
from cbnet.network.simulation.memory_network import ConnectionEnd

Neighbours = Mapping[str, set[str]]


class GroundTruth:
    """The actual state of a network in memory."""

    def __init__(
        self, memory: MemoryNetwork, clients: Mapping[str, MemoryClient], messages: Sequence[Message] = ()
    ) -> None:
        """Initialise with the messages for which the tables are compared with the predicates of the clients."""
        self._memory = memory
        self._clients = clients
        self._messages = messages
        self._matched_by_text = cache(lambda text: self._matched(parse(text).filters))
        self._matched_by_bytes = cache(lambda encoded: self._matched([filter_from_bytes(encoded)]))

    def running(self) -> dict[str, Router]:
        """Return the running routers by name."""
        return {name: host.router for name, host in self._memory.hosts.items() if host.router is not None}

    def reached(self, router: str) -> set[str]:
        """Return the routers reachable from one, including itself."""
        return _component(router, self._neighbours())

    def is_converged(self) -> bool:
        """Return whether every router knows the actual state."""
        return (
            self._are_cables_up()
            and self._are_clients_served()
            and self._are_versions_right()
            and self._are_streams_still()
            and self._are_tables_right()
        )

    def is_quiet(self) -> bool:
        """Return whether, in addition, no router keeps an earlier version of the topology."""
        return all(router.is_settled for router in self.running().values()) and self.is_converged()

    def _neighbours(self) -> Neighbours:
        neighbours: dict[str, set[str]] = {name: set() for name in self.running()}
        for a, b in self._memory.cables(cut=False):
            if a in neighbours and b in neighbours:
                neighbours[a].add(b)
                neighbours[b].add(a)
        return neighbours

    def _are_cables_up(self) -> bool:
        hosts, running = self._memory.hosts, self.running()
        for a, b in self._memory.cables(cut=False):
            if a in running and b in running:
                there, back = running[a].links.to(b), running[b].links.to(a)
                if there is None or back is None or not _works(hosts[a].ends.get(there), back):
                    return False
        return True

    def _are_clients_served(self) -> bool:
        subscribed: dict[str, set[tuple[int, int]]] = {name: set() for name in self.running()}
        offered: dict[str, set[tuple[int, int]]] = {name: set() for name in self.running()}
        for client in self._served():
            end = client.end
            if end is None or not _works(end, end.peer.link):
                return False
            subscribed[client.router] |= {(end.peer.link, id) for id in client.subscriptions}
            offered[client.router] |= {(end.peer.link, id) for id in client.offers}
        return all(
            _held(router.subscriptions) == subscribed[name] and _held(router.offers) == offered[name]
            for name, router in self.running().items()
        )

    def _served(self) -> Iterable[MemoryClient]:
        """Yield the clients whose routers run, without those that have left."""
        running = self.running()
        return (each for each in self._clients.values() if each.router in running and not each.is_disconnected)

    def _are_versions_right(self) -> bool:
        """Return whether every router has the links of its part of the network, in a complete version."""
        neighbours = self._neighbours()
        for name, router in self.running().items():
            part = _component(name, neighbours)
            links = {(a, b) for a in part for b in neighbours[a] if a < b}
            if router.versions.is_outdated or router.version.complete is None or router.version.edges.keys() != links:
                return False
        return True

    def _are_streams_still(self) -> bool:
        """Return whether every neighbour has all changes of every stream of the newest version."""
        running = self.running()
        for router in running.values():
            for link in (each for each in router.version.links() if each.tells):
                sent = router.streams.to_side(link)
                if sent is None or any(kind.has_pending(sent) for kind in router.streams.kinds):
                    return False
                received = running[link.neighbour].streams.by_number.get((link.session, sent.number))
                if received is None or received.sequence != sent.sequence:
                    return False
        return True

    def _are_tables_right(self) -> bool:
        wanted: dict[str, int] = dict.fromkeys(self._memory.hosts, 0)  # bits of the messages
        for client in self._served():
            for text in client.subscriptions.values():
                wanted[client.router] |= self._matched_by_text(text)
        neighbours = self._neighbours()
        return all(
            self._is_tree_right(router, tree, _component(name, neighbours) - {name}, wanted)
            for name, router in self.running().items()
            for tree in _own_trees(name, router)
        )

    def _is_tree_right(self, router: Router, tree: TreeView, others: set[str], wanted: Mapping[str, int]) -> bool:
        """Return whether each other router is behind one interface, which wants what the routers behind it want."""
        behind = [name for link in tree.links.values() for name in link.behind]
        if len(behind) != len(others) or set(behind) != others:
            return False
        for link in tree.links.values():
            told = _union(map(self._matched_by_bytes, router.streams.filters(link)))
            if told != _union(wanted[name] for name in link.behind):
                return False
        return True

    def _matched(self, filters: Iterable[Filter]) -> int:
        """Return the messages that filters match, one by one, as bits."""
        return _union(
            1 << index
            for filter in filters
            for index, message in enumerate(self._messages)
            if filter.matches(message)
        )  # fmt: skip


def _union(bits: Iterable[int]) -> int:
    all_bits = 0
    for each in bits:
        all_bits |= each
    return all_bits


def _own_trees(name: str, router: Router) -> list[TreeView]:
    """Return the trees whose interfaces are announced one by one: all, or that of a router itself if each has one."""
    own = router.version.tree(0, name)
    if own is None or router.settings.scheme != "pif":
        return router.version.trees
    return [own]


def _held(subscriptions: Subscriptions) -> set[tuple[int, int]]:
    return {(link, id) for link, id, _ in subscriptions.all() if isinstance(link, int)}


def _works(end: ConnectionEnd | None, peer: int) -> bool:
    """Return whether a connection works in both directions."""
    if end is None or end.peer.link != peer:
        return False
    return all(each.is_open and not each.is_lost for each in (end, end.peer))


def _component(start: str, neighbours: Neighbours) -> set[str]:
    """Return the nodes that can be reached from one, including itself."""
    reached, queue = {start}, [start]
    for name in queue:  # grows during the loop
        queue += sorted(neighbours[name] - reached)
        reached |= neighbours[name]
    return reached
