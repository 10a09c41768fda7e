"""A network in memory under faults, with recorded clients, checked while it runs; and its actual state.

The running routers, the working cables, and the connected clients with their subscriptions and offers are read from the
simulation, not from the routers. The network has converged when

    every cable between two running routers works in both directions
    every client is connected, and its router has exactly its subscriptions and offers
    every router's newest version of the topology has the links that it can reach, and is complete
    no announcement is in progress, and the table of every router is the one that `routing` computes

and is quiet when, in addition, no router keeps an earlier version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.language.syntax.parser import parse
from cbnet.network import MemoryClient, MemoryNetwork, Router
from cbnet.network.forwarding.forwarding_table import Fib
from cbnet.network.linkstate.versions import reachable_edges, tree_roots
from cbnet.network.protocol.frames import LinkField
from cbnet.network.simulation.memory_client import ReceivedMessage
from cbnet.network.simulation.memory_network import ConnectionEnd
from cbnet.routing import Network, Scheme
from cbnet.routing.multitree.multitree import MultiTree, MultiTreeRouter
from cbnet.routing.schemes.pif import Pif, PifRouter
from cbnet.topology import Graph
from cbnet_lab.faults import record
from cbnet_lab.faults.check.checker import Checker
from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.driver.driver import FaultDriver
from cbnet_lab.faults.driver.memory import Act, MemoryFaults

Neighbours = Mapping[str, set[str]]
Tables = dict[str, list[dict[str, set[bytes]]]]  # by router, on each tree: the filters of each neighbour


class GroundTruth:
    """The actual state of a network in memory."""

    def __init__(self, memory: MemoryNetwork, clients: Mapping[str, MemoryClient]) -> None:
        self._memory = memory
        self._clients = clients
        self._predicates: dict[str, Predicate] = {}  # by text
        self._computed: tuple[object, dict[str, list[Scheme]], Tables] = ((), {}, {})

    # --- routers, cables and clients

    def running(self) -> dict[str, Router]:
        """Return the running routers by name."""
        return {name: host.router for name, host in self._memory.hosts.items() if host.router is not None}

    def reached(self, router: str) -> set[str]:
        """Return the routers reachable from a router, including itself; none if it is not running."""
        neighbours = self._neighbours()
        return _component(router, neighbours) if router in neighbours else set()

    def reached_by_links(self, router: str) -> set[str]:
        """Return the routers that a router reaches by links that are up, if nobody holds a dead link; otherwise none.

        Only then is a confirmation a promise: where a bridge is gone and its replacement is still being dialled, no
        router can deliver.
        """
        hosts, running = self._memory.hosts, self.running()
        if not all(_is_alive(end) for host in hosts.values() for end in host.ends.values()):
            return set()
        up = [(a, b) for a, b in self._cables() if running[a].links.to(b) and running[b].links.to(a)]
        reached = _component(router, _neighbours(running, up))
        return reached if reached == self.reached(router) else set()

    def is_connected(self, client: MemoryClient) -> bool:
        """Return whether the router of a client has its connection; False if it was killed in the meantime."""
        router, end = self._memory.hosts[client.router].router, client.end
        return router is not None and end is not None and _is_alive(end) and router.links.get(end.peer.link) is not None

    def _cables(self) -> list[tuple[str, str]]:
        """Return the cables between running routers that are not cut."""
        running = self.running().keys()
        return [pair for pair in self._memory.cables(cut=False) if running >= set(pair)]

    def _neighbours(self) -> Neighbours:
        return _neighbours(self.running(), self._cables())

    def _served(self) -> Iterable[MemoryClient]:
        """Yield the clients whose routers run, except those that have left."""
        running = self.running()
        return (each for each in self._clients.values() if each.router in running and not each.is_disconnected)

    # --- knowledge of the routers

    def is_converged(self) -> bool:
        """Return whether every router knows the actual state."""
        return (
            self._are_cables_up()
            and self._are_clients_served()
            and self._are_versions_right()
            and self._are_streams_still()
            and not any(self.wrong_tables())
        )

    def is_settled(self) -> bool:
        """Return whether no router keeps an earlier version of the topology."""
        return all(router.is_settled for router in self.running().values())

    def is_quiet(self) -> bool:
        """Return whether every router knows the actual state, and keeps no earlier version."""
        return self.is_settled() and self.is_converged()

    def _are_cables_up(self) -> bool:
        hosts, running = self._memory.hosts, self.running()
        for a, b in self._cables():
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
            _held(router.fib) == subscribed[name] and _held(router.offer_fib) == offered[name]
            for name, router in self.running().items()
        )

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
            for link in (each for each in router.version.links() if each.announces):
                sent = router.streams.to_side(link)
                if sent is None or any(kind.has_pending(sent) for kind in router.streams.kinds):
                    return False
                received = running[link.neighbour].streams.by_number.get((link.session, sent.number))
                if received is None or received.sequence != sent.sequence:
                    return False
        return True

    # --- tables computed by `routing`

    def wrong_tables(self) -> Iterator[str]:
        """Yield the interfaces, on each tree, whose filters differ from those that `routing` computes."""
        _, _, tables = self._compute()
        for name, router in self.running().items():
            for number, computed in enumerate(tables[name]):
                view = router.version.tree(number, name)
                interfaces = {} if view is None else {each.to.neighbour: each for each in router.fib.interfaces(view)}
                for neighbour in interfaces.keys() | computed.keys():
                    held = router.fib.filters(interfaces[neighbour].to) if neighbour in interfaces else None
                    if held != computed.get(neighbour, set()):
                        yield f"{name}, interface to {neighbour}"

    def schemes(self) -> dict[str, list[Scheme]]:
        """Return the schemes over the part of the network of each running router, one for each shared tree."""
        return self._compute()[1]

    def _compute(self) -> tuple[object, dict[str, list[Scheme]], Tables]:
        wanted = {name: set[str]() for name in self.running()}
        for client in self._served():
            wanted[client.router] |= {*client.subscriptions.values()}
        state = self._cables(), wanted
        if state != self._computed[0]:
            schemes: dict[str, list[Scheme]] = {}
            for name in wanted:
                if name not in schemes:
                    built = self._schemes(name, wanted)
                    schemes.update((str(reached), built) for reached in built[0].network.graph.names)
            tables = {name: [_table(scheme, name) for scheme in own] for name, own in schemes.items()}
            self._computed = state, schemes, tables
        return self._computed

    def _schemes(self, name: str, wanted: Mapping[str, set[str]]) -> list[Scheme]:
        """Return the schemes over a router's part of the network, with the predicates of the clients there."""
        settings = self._memory.hosts[name].settings
        neighbours: dict[str, dict[str, LinkField]] = {each: {} for each in wanted}
        for a, b in self._cables():
            length = self._memory.hosts[a].settings.weights.get(b, 1)
            neighbours[a][b] = neighbours[b][a] = LinkField(length, [1])
        edges = reachable_edges(name, lambda each: neighbours[each])
        graph = Graph.from_edges(((a, b, edge.weight) for (a, b), edge in edges.items()), names=[name])
        predicates = {id: self._union(wanted[str(graph.name(id))]) for id in range(len(graph))}
        network = Network(graph, predicates)
        if settings.scheme == "pif":
            return [Pif(network)]
        return [MultiTree(network, [root]) for root in tree_roots(graph, settings.trees)]

    def _union(self, texts: Iterable[str]) -> Predicate:
        union = Predicate()
        for text in sorted(texts):
            if text not in self._predicates:
                self._predicates[text] = parse(text)
            union |= self._predicates[text]
        return union


def _table(scheme: Scheme, name: str) -> dict[str, set[bytes]]:
    """Return the table of a router: the filters of each neighbour."""
    graph = scheme.network.graph
    router = scheme.router(graph.id(name))
    if isinstance(router, PifRouter):
        table = {w: router.table[w] for w in router.table}
    else:
        assert isinstance(router, MultiTreeRouter)
        table = {w: each.subscriptions for w, each in router.fib(0).items()}
    return {str(graph.name(w)): set(map(filter_to_bytes, predicate)) for w, predicate in table.items()}


def _held(fib: Fib) -> set[tuple[int, int]]:
    return {(link, id) for link, id, _ in fib.local() if isinstance(link, int)}


def _is_alive(end: ConnectionEnd) -> bool:
    return end.is_open and not (end.is_lost or end.peer.is_lost)


def _works(end: ConnectionEnd | None, peer: int) -> bool:
    """Return whether a connection works in both directions."""
    return end is not None and end.peer.link == peer and end.peer.is_open and _is_alive(end)


def _neighbours(routers: Iterable[str], links: Sequence[tuple[str, str]]) -> Neighbours:
    neighbours: dict[str, set[str]] = {name: set() for name in routers}
    for a, b in links:
        neighbours[a].add(b)
        neighbours[b].add(a)
    return neighbours


def _component(start: str, neighbours: Neighbours) -> set[str]:
    """Return the nodes that can be reached from a node, including itself."""
    reached, queue = {start}, [start]
    for name in queue:  # grows during the loop
        queue += sorted(neighbours[name] - reached)
        reached |= neighbours[name]
    return reached


class Simulation:
    """A run of a network in memory, which is not settled at first."""

    def __init__(self, memory: MemoryNetwork, begin: record.BeginEvent, acts: Mapping[str, Act] | None = None) -> None:
        """Initialise; acts: further kinds of faults, such as changes of subscriptions."""
        self.memory = memory
        self.clients: dict[str, RecordedClient] = {}
        self.truth = GroundTruth(memory, self.clients)
        self.checker = Checker(begin)
        self.driver = FaultDriver(MemoryFaults(memory, self.clients, acts or {}), self.record)
        self.record(record.FaultEvent(0.0, "network", "start"))

    def record(self, event: record.RunEvent) -> None:
        """Record and check an event."""
        self.checker.add(event)

    def end(self) -> Findings:
        """Return the findings of the whole run."""
        self.record(record.EndEvent(self.memory.now, {}))
        return self.checker.end()


class RecordedClient(MemoryClient):
    """A client with plain subscriptions, which numbers its messages."""

    def __init__(self, run: Simulation, name: str, router: str) -> None:
        super().__init__(run.memory, name, router)
        self._run = run
        self._published = 0
        self.on_delivery = self._delivered
        run.clients[name] = self

    def subscription_name(self, id: int) -> str:
        """Return the name of a subscription in the record."""
        return f"{self.name}/{id}"

    def subscribe(self, id: int, predicate: str, wait: float = 0.0, group: str = "") -> None:
        """Subscribe, now and after each reconnection."""
        now, name = self._memory.now, self.subscription_name(id)
        self._run.record(record.SubscribeEvent(now, self.name, name, self.router, predicate, kind="plain"))
        super().subscribe(id, predicate, wait, group)

    def unsubscribe(self, id: int) -> None:
        """End a subscription."""
        self._run.record(record.UnsubscribeEvent(self._memory.now, self.subscription_name(id)))
        super().unsubscribe(id)

    def publish_message(self, message: Message) -> None:
        """Publish a message, which reaches nobody if the client is not connected."""
        self._published += 1
        truth, now = self._run.truth, self._memory.now
        reach = frozenset(truth.reached(self.router) if truth.is_connected(self) else ())
        self._run.record(record.PublishEvent(now, self.name, self._published, message.to_dict(), reach=reach))
        payload = f"{self.name} {self._published}".encode()
        self.publish(dict(message.attributes), payload, tuple(sorted(message.tags)))

    def _delivered(self, delivered: ReceivedMessage) -> None:
        name = self.subscription_name(delivered.subscription)
        self._run.record(record.ReceiveEvent(delivered.at, self.name, name, 0, 1, *record.sender(delivered.payload)))
