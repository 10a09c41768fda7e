"""Random schedules of failures and changes, each reproducible from its seed.

In a network in memory, predicates change, cables are cut and repaired, routers killed and restarted, clocks jump, and
messages are published all the time. Then everything is left alone until the network has converged, messages are
published at every router, and

    after that      every reachable subscription has received exactly the messages that match its predicate, once;
                    the routers have sent exactly the packets that the scheme sends in the simulator; and the table
                    of every router is the one that `routing` computes
    at all times    no subscription receives a message twice, or one that its predicates never matched; and none that
                    is confirmed misses what is published afterwards (`confirmation_check`)

Expected values do not depend on the routers: predicates are evaluated one by one, and components come from the cables
that are not cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from zlib import crc32

from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.language.syntax.parser import parse as parsed_anew
from cbnet.network.link.settings import Settings
from cbnet.network.linkstate.versions import reachable_edges, tree_roots
from cbnet.network.protocol.fields import LinkField
from cbnet.network.simulation.memory_client import MemoryClient
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet.routing import Network, Scheme, deliver
from cbnet.routing.multitree.multitree import MultiTree, MultiTreeRouter
from cbnet.routing.schemes.pif import Pif, PifRouter
from cbnet.topology import Graph
from cbnet_lab.faults.soak.confirmation_check import ConfirmationCheck

PREDICATES = (
    "k = 0", "k = 1", "k < 2", "k < 3", "k > 1", "k != 1", "k = 0 or k = 3", "k = 1 and #a", "k >= 0 and j = 1",
    "#a", "#a and #b", 's ^= "x"', 's ^= "xy" and k > 0', "b != true", "b = false and k < 3", "true", "k < 0 and k > 0",
    "k in (0, 2, null)", "k in (0, 1, 2, null)", "k = null", "k != null", 'k in (1, "1") and #a', "absent k", "j < k",
    'd.s = "on" and not (name ^= "x")', 'd.s = "on"', "e.p * e.n > 10", "e.p = 5 and e.n = 1", "(k = 1) is not true",
    's like "x%z%" or lower(name) = "yes"', "k > 2 and k < 2", "not #a and k >= 0", "e.n not in (1, 2)",
    "j < k and k > 2",
)  # fmt: skip
MESSAGES = (
    Message({"k": 0}), Message({"k": 1}), Message({"k": 2, "j": 1}), Message({"k": 3, "s": "xyz"}, ["a"]),
    Message({"b": False, "k": 1}, ["a", "b"]), Message({"s": "x"}), Message(),
    Message({"k": None}), Message({"k": [1, 3, None], "j": 2}), Message({"k": [], "d": {"s": "on"}}, ["b"]),
    Message({"d": {"s": ["off", "on"]}, "name": "xyz", "k": "1"}), Message({"d.s": "on", "name": ["x", "YES"]}, ["a"]),
    Message({"e": [{"p": 5, "n": 1}, {"p": 2, "n": [2, 3]}]}),
    Message({"e": [{"p": 5, "n": 3}, {"n": 1}], "k": [1, 3]}),
)  # fmt: skip
parse = cache(parsed_anew)
CONVERGENCE = 9.0  # seconds: a dead link is noticed after 3.5, a client's later; then redialling and flooding


@dataclass
class ScheduleVerdict:
    """The result of a schedule."""

    delivered: int = 0  # deliveries that were checked
    missed: list[str] = field(default_factory=list)
    spurious: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    packets: list[str] = field(default_factory=list)  # checks with more or fewer than in the simulator
    tables: list[str] = field(default_factory=list)  # interfaces that differ from those that `routing` computes
    confirmed: int = 0  # messages that were published after a confirmation, and checked
    unkept: list[str] = field(default_factory=list)  # those that were missed
    unsettled: list[str] = field(default_factory=list)  # checks before which routers kept earlier versions for long
    checks: int = 0
    events: Counter[str] = field(default_factory=Counter)

    @property
    def is_good(self) -> bool:
        """Whether no check failed."""
        return not (
            self.missed
            or self.spurious
            or self.duplicates
            or self.packets
            or self.tables
            or self.unkept
            or self.unsettled
        )


class RandomSchedule:
    """A random schedule over a random network."""

    def __init__(
        self,
        seed: int,
        scheme: str = "multitree",
        *,
        trees: int | None = None,
        max_routers: int = 8,
        is_fast: bool = False,
    ) -> None:
        """Create a schedule; trees: the number of routing trees, 1 or 3 by default."""
        self.memory = MemoryNetwork(seed, is_fast=is_fast)
        self.random = self.memory.random
        self.verdict = ScheduleVerdict()
        self._scheme = scheme
        self._published: dict[bytes, Message] = {}
        self._ever: dict[tuple[str, int], list[Predicate]] = {}  # all predicates that a subscription has had
        self._clients: dict[str, MemoryClient] = {}
        self._confirmations = ConfirmationCheck(self.memory, self._clients, MESSAGES, self._send)
        self._names = [f"r{number}" for number in range(self.random.randint(2, max_routers))]
        self._trees = trees if trees is not None else self.random.choice((1, 3))
        self._build()

    def run(self, changes: int) -> ScheduleVerdict:
        """Apply random changes, and check deliveries; then repair everything, and check again."""
        for _ in range(changes):
            self._change()
            for _ in range(self.random.choice((0, 3, 10))):
                self.memory.after(self.random.uniform(0, 0.5), self._publish)
            self.memory.run(self.random.choice((0.0, 0.01, 0.05, 0.3, 1.0, 5.0)))
        self.check()
        self._repair_all()
        self.check()
        self.verdict.confirmed, self.verdict.unkept = self._confirmations.checked, self._confirmations.missed
        return self.verdict

    # --- the network

    def _build(self) -> None:
        names, random = self._names, self.random
        pairs = {(names[random.randrange(index)], names[index]) for index in range(1, len(names))}
        pairs |= {tuple(sorted(random.sample(names, 2))) for _ in range(random.randint(0, len(names)))}  # type: ignore[misc]
        lengths = {pair: random.choice((1, 1, 2, 5)) for pair in sorted(pairs)}
        refresh, lifetime = random.choice(((4.0, 13.0), (600.0, 1800.0)))
        for name in names:
            weights = {b if a == name else a: length for (a, b), length in lengths.items() if name in (a, b)}
            self.memory.add(
                Settings(
                    name, scheme=self._scheme, trees=self._trees, weights=weights, refresh=refresh, lifetime=lifetime
                )
            )
            for number in range(random.choice((1, 1, 2))):
                self._clients[f"{name}.{number}"] = MemoryClient(self.memory, f"{name}.{number}", name)
        for pair in sorted(pairs):
            self.memory.add_cable(*pair)
        for client in self._clients:
            for _ in range(random.choice((0, 1, 3))):
                self._subscribe(client)

    def _repair_all(self) -> None:
        self._confirmations.disturb()
        for pair in self.memory.cables(cut=True):
            self.memory.repair(*pair)
        for name in self._dead():
            self.memory.start(name)

    def _running(self) -> list[str]:
        return [name for name in self._names if self.memory.hosts[name].router is not None]

    def _dead(self) -> list[str]:
        return [name for name in self._names if self.memory.hosts[name].router is None]

    # --- random changes

    def _change(self) -> None:
        changes: list[tuple[int, Callable[[], None]]] = [
            (4, self._subscribe), (3, self._unsubscribe), (3, self._cut), (3, self._repair), (1, self._kill),
            (1, self._start), (1, self._jump), (2, self._race),
        ]  # fmt: skip
        weights, calls = zip(*changes, strict=True)
        self._call(self.random.choices(calls, weights)[0])

    def _call(self, change: Callable[[], None]) -> None:
        self.verdict.events[change.__name__.strip("_")] += 1
        change()

    def _subscribe(self, client: str | None = None, wait: float | None = None) -> None:
        name = client or self.random.choice(list(self._clients))
        predicate = self.random.choice(PREDICATES)
        id = self.random.randrange(4)
        self._ever.setdefault((name, id), []).append(parse(predicate))
        wait = self.random.choice((0.0, 1.0)) if wait is None else wait
        self._clients[name].subscribe(id, predicate, wait)
        self._confirmations.cancel(self._clients[name], id)
        if wait:
            self._confirmations.subscribed(self._clients[name], id, parse(predicate))

    def _unsubscribe(self) -> None:
        client = self.random.choice(list(self._clients.values()))
        if client.subscriptions:
            id = self.random.choice(list(client.subscriptions))
            client.unsubscribe(id)
            self._confirmations.cancel(client, id)

    def _race(self) -> None:
        """Change the topology, subscribe while it is settling, and change nothing else until all is confirmed."""
        self._call(self.random.choice((self._cut, self._repair, self._repair, self._kill, self._start)))
        for _ in range(3):
            self.memory.after(self.random.uniform(0.0, 0.8), lambda: self._subscribe(wait=4.0))
        self.memory.run(self.random.uniform(4.0, 8.0))

    def _publish(self) -> None:
        client = self.random.choice(list(self._clients.values()))
        self._send(client, self.random.choice(MESSAGES))

    def _cut(self) -> None:
        if cables := self.memory.cables(cut=False):
            cable = self.random.choice(cables)
            self._confirmations.disturb()
            self.memory.cut(*cable, noticed_by=[end for end in cable if self.random.random() < 0.5])

    def _repair(self) -> None:
        if cables := self.memory.cables(cut=True):
            self._confirmations.disturb()
            self.memory.repair(*self.random.choice(cables))

    def _kill(self) -> None:
        if running := self._running():
            self._confirmations.disturb()
            self.memory.kill(self.random.choice(running), silently=self.random.random() < 0.5)

    def _start(self) -> None:
        if dead := self._dead():
            self._confirmations.disturb()
            self.memory.start(self.random.choice(dead))

    def _jump(self) -> None:
        self.memory.jump_clock(self.random.choice(self._names), self.random.choice((-7200.0, -3.0, 3.0, 7200.0)))

    def _send(self, client: MemoryClient, message: Message) -> bytes:
        payload = str(len(self._published)).encode()
        self._published[payload] = message
        client.publish(dict(message.attributes), payload, tuple(sorted(message.tags)))
        return payload

    # --- checks

    def check(self) -> None:
        """Wait for convergence, publish at every router, and compare deliveries and packets."""
        self.memory.run(CONVERGENCE)
        if not self._settle():
            self.verdict.unsettled.append(f"at {self.memory.now:.1f}")
            return
        before = self._packets_sent()
        expected: Counter[tuple[str, int, bytes]] = Counter()
        payloads: set[bytes] = set()
        packets = 0
        simulated = self._simulated()
        for name in self._running():
            client = self._clients[f"{name}.0"]
            trees = simulated[name]
            scheme = trees[crc32(client.name.encode()) % self._trees % len(trees)]
            network = scheme.network
            for message in MESSAGES:
                payload = self._send(client, message)
                payloads.add(payload)
                expected.update(self._expected(network, message, payload))
                packets += deliver(scheme, network.graph.id(name), message).cost
            self._compare_tables(name, trees)
        self.memory.run(2.0)
        sent = self._packets_sent() - before
        if sent != packets:
            self.verdict.packets.append(f"at {self.memory.now:.1f}: {sent} packets, not {packets}")
        self._compare(expected, payloads)

    def _settle(self) -> bool:
        """Wait until no router keeps an earlier version: until then more packets are sent than in the simulator."""
        end = self.memory.now + CONVERGENCE
        while not all(self.memory.router(name).is_settled for name in self._running()):
            if self.memory.now > end:
                return False
            self.memory.run(0.1)
        return True

    def _compare_tables(self, name: str, schemes: list[Scheme]) -> None:
        """Compare the interfaces of a router with those that `routing` computes, on each tree."""
        router = self.memory.router(name)
        for number, scheme in enumerate(schemes):
            view = router.version.tree(number, name)
            interfaces = {} if view is None else {each.to.neighbour: each for each in router.streams.branches(view)}
            computed = {
                neighbour: set(map(filter_to_bytes, predicate)) for neighbour, predicate in _table(scheme, name).items()
            }
            for neighbour in interfaces.keys() | computed.keys():
                held = router.streams.filters(interfaces[neighbour].to) if neighbour in interfaces else None
                if held != computed.get(neighbour, set()):
                    self.verdict.tables.append(f"at {self.memory.now:.1f}: {name}, interface to {neighbour}")

    def _expected(self, network: Network, message: Message, payload: bytes) -> Iterable[tuple[str, int, bytes]]:
        """Yield the expected deliveries of a message: client, subscription, payload."""
        reached = {str(name) for name in network.graph.names}
        for name, client in self._clients.items():
            if client.router in reached:
                for id, predicate in client.subscriptions.items():
                    if parse(predicate).matches(message):
                        yield name, id, payload

    def _compare(self, expected: Counter[tuple[str, int, bytes]], payloads: set[bytes]) -> None:
        actual: Counter[tuple[str, int, bytes]] = Counter()
        for name, client in self._clients.items():
            actual.update((name, each.subscription, each.payload) for each in client.deliveries)
        late = Counter({key: count for key, count in actual.items() if key[2] in payloads})
        time = f"at {self.memory.now:.1f}"
        self.verdict.checks += 1
        self.verdict.delivered += len(expected)
        self.verdict.missed += [f"{time}: {key}" for key in expected - late]
        self.verdict.spurious += [f"{time}: {key}" for key in late if key not in expected]
        self.verdict.duplicates += [f"{time}: {key}" for key, count in actual.items() if count > 1]
        for name, id, payload in actual:
            if not any(each.matches(self._published[payload]) for each in self._ever[name, id]):
                self.verdict.spurious.append(f"{time}: {name} never subscribed to {payload!r}")

    def _packets_sent(self) -> int:
        return self.memory.frames["Packet"]

    def _simulated(self) -> dict[str, list[Scheme]]:
        """Return, for each running router, the scheme over its component of the network; one for each shared tree."""
        schemes: dict[str, list[Scheme]] = {}
        for name in self._running():
            if name not in schemes:
                network = self._network(name)
                built: list[Scheme] = [Pif(network)]
                if self._scheme == "multitree":
                    built = [MultiTree(network, [root]) for root in tree_roots(network.graph, self._trees)]
                schemes.update((str(reached), built) for reached in network.graph.names)
        return schemes

    def _network(self, name: str) -> Network:
        """Return the component of a router, with the predicates of its clients."""
        neighbours: dict[str, dict[str, LinkField]] = {each: {} for each in self._running()}
        for a, b in self.memory.cables(cut=False):
            if a in neighbours and b in neighbours:
                length = self.memory.hosts[a].settings.weights[b]
                neighbours[a][b] = neighbours[b][a] = LinkField(length, [1])
        edges = reachable_edges(name, lambda each: neighbours[each])
        graph = Graph.from_edges(((a, b, edge.weight) for (a, b), edge in edges.items()), names=[name])
        predicates: dict[int, Predicate] = {id: Predicate() for id in range(len(graph))}
        for client in self._clients.values():
            if client.router in graph.names:
                for predicate in client.subscriptions.values():
                    predicates[graph.id(client.router)] |= parse(predicate)
        return Network(graph, predicates)


def _table(scheme: Scheme, name: str) -> dict[str, Predicate]:
    """Return the table of a router: the predicate of each neighbour."""
    graph = scheme.network.graph
    router = scheme.router(graph.id(name))
    if isinstance(router, PifRouter):
        return {str(graph.names[w]): router.table[w] for w in router.table}
    assert isinstance(router, MultiTreeRouter)
    return {str(graph.names[w]): each.subscriptions for w, each in router.fib(0).items()}
