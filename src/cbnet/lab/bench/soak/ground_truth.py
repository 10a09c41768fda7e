"""Month truth: what is so in a network in memory, whatever its routers believe, and do all of them know it?

Who runs, which cables are whole and which clients are there is asked of the network in memory, not of its routers. It
is known everywhere when

    every cable between two routers that run carries what either end sends
    every client that is there is connected, and its router has its subscriptions and offers, and no others
    every router sees the links of all that it can reach, and the newest predicates and offers of their owners
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cbnet.network import MemoryClient, MemoryNetwork, Router
from cbnet.network.announce.subscriptions import Subscriptions
from cbnet.network.linkstate.records import Key, RecordKind
from cbnet.network.linkstate.view import reachable_edges
from cbnet.network.simulation.memory_network import ConnectionEnd

Edges = dict[tuple[str, str], int]


class Truth:
    """What is so."""

    def __init__(self, memory: MemoryNetwork, clients: Mapping[str, MemoryClient]) -> None:
        self._memory = memory
        self._clients = clients

    def running(self) -> dict[str, Router]:
        """Return the routers that run, by name."""
        return {name: host.router for name, host in self._memory.hosts.items() if host.router is not None}

    def reached(self, router: str) -> set[str]:
        """Return the routers that can be reached from one, with itself."""
        edges = reachable_edges(router, self._neighbours().__getitem__)
        return {router, *(name for pair in edges for name in pair)}

    def is_known(self) -> bool:
        """Return whether everybody knows what is so."""
        return self._are_cables_up() and self._are_clients_served() and self._are_records_everywhere()

    # --- inside

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
                if there is None or back is None or not _is_whole(hosts[a].ends.get(there), back):
                    return False
        return True

    def _are_clients_served(self) -> bool:
        subscribed: dict[str, set[tuple[int, int]]] = {name: set() for name in self.running()}
        offered: dict[str, set[tuple[int, int]]] = {name: set() for name in self.running()}
        for client in self._clients.values():
            if client.router in subscribed and not client.is_disconnected:
                end = client.end
                if end is None or not _is_whole(end, end.peer.link):
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
        for part in _parts(neighbours):
            edges: Edges = reachable_edges(part[0], neighbours.__getitem__)
            keys = [Key(owner, kind) for owner in part for kind in (RecordKind.PREDICATE, RecordKind.OFFERS)]
            newest = {key: running[key.owner].database.version(key) for key in keys}
            for name in part:
                router = running[name]
                if router.view.edges != edges:
                    return False
                if any(router.database.version(key) != newest[key] for key in keys):
                    return False
        return True


def _held(subscriptions: Subscriptions) -> set[tuple[int, int]]:
    return {(link, id) for link, id, _ in subscriptions.all() if isinstance(link, int)}


def _is_whole(end: ConnectionEnd | None, peer: int) -> bool:
    """Return whether what is sent from either end of a connection arrives at the other."""
    if end is None or end.peer.link != peer:
        return False
    return all(each.is_open and not each.is_lost for each in (end, end.peer))


def _parts(neighbours: Mapping[str, Mapping[str, int]]) -> Iterable[list[str]]:
    """Yield the parts of a network that hang together."""
    left = dict.fromkeys(neighbours)
    while left:
        part = [next(iter(left))]
        for name in part:  # grows meanwhile
            left.pop(name, None)
            part += [other for other in neighbours[name] if other in left and other not in part]
        yield part
