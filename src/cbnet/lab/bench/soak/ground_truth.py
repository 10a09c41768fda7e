"""The actual state of a network in memory, and whether all its routers know it.

Which routers run, which cables work and which clients are connected is read from the simulation, not from the routers.
The network has converged when

    every cable between two running routers works in both directions
    every client is connected, and its router has exactly its subscriptions and offers
    every router has the links of all reachable routers, and the newest predicates and offers of each
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cbnet.network import MemoryClient, MemoryNetwork, Router
from cbnet.network.announce.subscriptions import Subscriptions
from cbnet.network.linkstate.records import Key, RecordKind
from cbnet.network.linkstate.view import reachable_edges
from cbnet.network.simulation.memory_network import ConnectionEnd

Edges = dict[tuple[str, str], int]


class GroundTruth:
    """The actual state of a network in memory."""

    def __init__(self, memory: MemoryNetwork, clients: Mapping[str, MemoryClient]) -> None:
        self._memory = memory
        self._clients = clients

    def running(self) -> dict[str, Router]:
        """Return the running routers by name."""
        return {name: host.router for name, host in self._memory.hosts.items() if host.router is not None}

    def reached(self, router: str) -> set[str]:
        """Return the routers reachable from one, including itself."""
        edges = reachable_edges(router, self._neighbours().__getitem__)
        return {router, *(name for pair in edges for name in pair)}

    def is_converged(self) -> bool:
        """Return whether every router knows the actual state."""
        return self._are_cables_up() and self._are_clients_served() and self._are_records_everywhere()

    def _neighbours(self) -> dict[str, dict[str, int]]:
        neighbours: dict[str, dict[str, int]] = {name: {} for name in self.running()}
        for a, b in self._memory.cables(cut=False):
            if a in neighbours and b in neighbours:
                neighbours[a][b] = neighbours[b][a] = 1
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
        for client in self._clients.values():
            if client.router in subscribed and not client.is_disconnected:
                end = client.end
                if end is None or not _works(end, end.peer.link):
                    return False
                subscribed[client.router] |= {(end.peer.link, id) for id in client.subscriptions}
                offered[client.router] |= {(end.peer.link, id) for id in client.offers}
        return all(
            _held(router.subscriptions) == subscribed[name] and _held(router.offers) == offered[name]
            for name, router in self.running().items()
        )

    def _are_records_everywhere(self) -> bool:
        running, neighbours = self.running(), self._neighbours()
        if any(router.announcement.pending or router.offers.announcement.pending for router in running.values()):
            return False
        for component in _components(neighbours):
            edges: Edges = reachable_edges(component[0], neighbours.__getitem__)
            keys = [Key(owner, kind) for owner in component for kind in (RecordKind.PREDICATE, RecordKind.OFFERS)]
            newest = {key: running[key.owner].database.version(key) for key in keys}
            for name in component:
                router = running[name]
                if router.view.edges != edges:
                    return False
                if any(router.database.version(key) != newest[key] for key in keys):
                    return False
        return True


def _held(subscriptions: Subscriptions) -> set[tuple[int, int]]:
    return {(link, id) for link, id, _ in subscriptions.all() if isinstance(link, int)}


def _works(end: ConnectionEnd | None, peer: int) -> bool:
    """Return whether a connection works in both directions."""
    if end is None or end.peer.link != peer:
        return False
    return all(each.is_open and not each.is_lost for each in (end, end.peer))


def _components(neighbours: Mapping[str, Mapping[str, int]]) -> Iterable[list[str]]:
    """Yield the connected components of a network."""
    left = dict.fromkeys(neighbours)
    while left:
        part = [next(iter(left))]
        for name in part:  # grows during the loop
            left.pop(name, None)
            part += [other for other in neighbours[name] if other in left and other not in part]
        yield part
