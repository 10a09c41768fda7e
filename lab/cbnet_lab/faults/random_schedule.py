"""Random schedules of failures and changes, each reproducible from its seed.

In a network in memory, predicates change, cables are cut and repaired, routers killed and restarted, clocks jump, and
messages are published all the time. Then everything is left alone until the network has settled, messages are
published at every router, and

    after that      every reachable subscription has received exactly the messages that match its predicate, once;
                    the routers have sent exactly the packets that the scheme sends in the simulator; and the table
                    of every router is the one that `routing` computes
    at all times    no subscription receives a message twice, or one that its predicates never matched; and no
                    confirmed subscription misses a message published afterwards

Expected values do not depend on the routers: predicates are evaluated one by one, and the parts of the network follow
from the cables that are not cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from zlib import crc32

from cbnet.language.message import Message
from cbnet.language.syntax.parser import parse
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import Frame, Subscribed
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet.routing import deliver
from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.driver.driver import Fault
from cbnet_lab.faults.record import BeginEvent, CompareEvent, ConfirmEvent, SettleEvent
from cbnet_lab.faults.simulation import RecordedClient, Simulation

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
CONVERGENCE = 9.0  # seconds: a dead link is detected after 3.5, a client's later; redialling and flooding follow
_DELAY = 3.0  # seconds until a message has arrived: the longest paths take less
_DOWN = 4.0  # seconds until a part is repaired, on average
_PAUSES = (0.0, 0.01, 0.05, 0.3, 1.0, 5.0)  # seconds from a change to the next
_PROBE_PAUSES = (0.0, 0.0, 0.05, 0.3)  # seconds from a confirmation until messages are published
_PROBED = 0.5  # share of routers that publish then
_ROUND_TRIP = 0.002  # seconds: a confirmation that comes sooner belongs to an earlier subscription of the same id
_CUTS = ("cut", "half-noticed cut", "silent cut")
_KILLS = ("kill", "silent kill")
_WEIGHTS = {"subscribe": 4, "unsubscribe": 3, "cut": 4, "kill": 2, "clock jump": 1, "race": 3}
_HARMLESS = ["subscribe", "unsubscribe", "clock jump"]  # to the other subscriptions


class RandomSchedule(Simulation):
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
        memory = MemoryNetwork(seed, is_fast=is_fast)
        self.random = random = memory.random
        self._names = [f"r{number}" for number in range(random.randint(2, max_routers))]
        self._trees = trees if trees is not None else random.choice((1, 3))
        begin = BeginEvent(0.0, len(self._names), 0.0, 2 * CONVERGENCE, _DELAY, _HARMLESS)
        super().__init__(memory, begin, {"subscribe": self._subscribe, "unsubscribe": self._unsubscribe})
        self._subscribed: dict[tuple[str, int], float] = {}  # time of the last subscription to be confirmed
        self._build(scheme)

    def run(self, changes: int) -> Findings:
        """Apply random changes, and check deliveries; then repair everything, and check again."""
        schedule = [*self._schedule(changes)]
        seconds = schedule[-1].at + self.random.choice(_PAUSES)
        for _ in range(int(4 * changes)):
            self.memory.after(self.random.uniform(0.0, seconds), self._publish)
        self.driver.run(schedule, seconds)
        self.check()
        self.driver.end_all()
        self.check()
        return self.end()

    # --- the network and the schedule

    def _build(self, scheme: str) -> None:
        names, random = self._names, self.random
        pairs = {(names[random.randrange(index)], names[index]) for index in range(1, len(names))}
        pairs |= {tuple(sorted(random.sample(names, 2))) for _ in range(random.randint(0, len(names)))}  # type: ignore[misc]
        lengths = {pair: random.choice((1, 1, 2, 5)) for pair in sorted(pairs)}
        refresh, lifetime = random.choice(((4.0, 13.0), (600.0, 1800.0)))
        for name in names:
            weights = {b if a == name else a: length for (a, b), length in lengths.items() if name in (a, b)}
            settings = Settings(
                name, scheme=scheme, trees=self._trees, weights=weights, refresh=refresh, lifetime=lifetime
            )
            self.memory.add(settings)
            for number in range(random.choice((1, 1, 2))):
                client = RecordedClient(self, f"{name}.{number}", name)
                client.on_answer = partial(self._answered, client)
        for pair in sorted(pairs):
            self.memory.add_cable(*pair)
        for client in self.clients.values():
            for _ in range(random.choice((0, 1, 3))):
                self._subscribe(Fault(0.0, "subscribe", client.name))

    def _schedule(self, changes: int) -> Iterator[Fault]:
        """Yield random changes, in order."""
        at = 0.0
        for kind in self.random.choices([*_WEIGHTS], [*_WEIGHTS.values()], k=changes):
            if kind == "race":
                yield self._fault(at, self.random.choice(("cut", "kill")))
                waits = sorted(self.random.uniform(0.0, 0.8) for _ in range(3))
                yield from (self._fault(at + wait, "subscribe", wait=4.0) for wait in waits)
                at += self.random.uniform(4.0, 8.0)
            else:
                yield self._fault(at, kind, wait=self.random.choice((0.0, 1.0)))
                at += self.random.choice(_PAUSES)

    def _fault(self, at: float, kind: str, wait: float = 0.0) -> Fault:
        """Return a fault of a random part; wait: for the confirmation of a subscription, in seconds."""
        random, duration = self.random, self.random.uniform(0.1, 2.0) * _DOWN
        if kind == "cut":
            cables = self.memory.cables(cut=False)
            return Fault(at, random.choice(_CUTS), "-".join(random.choice(cables)), duration)
        if kind == "kill":
            return Fault(at, random.choice(_KILLS), random.choice(self._names), duration)
        if kind == "clock jump":
            return Fault(at, kind, random.choice(self._names), size=random.choice((-7200.0, -3.0, 3.0, 7200.0)))
        return Fault(at, kind, random.choice([*self.clients]), size=wait)

    # --- clients

    def _subscribe(self, fault: Fault) -> bool:
        id = self.random.randrange(4)
        self._subscribed[fault.of, id] = self.memory.now if fault.size else float("inf")
        self.clients[fault.of].subscribe(id, self.random.choice(PREDICATES), fault.size)
        return True

    def _unsubscribe(self, fault: Fault) -> bool:
        client = self.clients[fault.of]
        if client.subscriptions:
            client.unsubscribe(self.random.choice(list(client.subscriptions)))
        return True

    def _publish(self) -> None:
        self.random.choice(list(self.clients.values())).publish_message(self.random.choice(MESSAGES))

    def _answered(self, client: RecordedClient, frame: Frame) -> None:
        """Record a confirmation, and publish messages that the subscription must receive."""
        if not isinstance(frame, Subscribed) or not frame.is_confirmed or frame.id not in client.subscriptions:
            return
        now, reached = self.memory.now, self.truth.reached_by_links(client.router)
        if now - self._subscribed[client.name, frame.id] < _ROUND_TRIP:
            return
        self.record(ConfirmEvent(now, client.subscription_name(frame.id), frame.routers, len(reached)))
        predicate = parse(client.subscriptions[frame.id])
        matching = [message for message in MESSAGES if predicate.matches(message)]
        for name in sorted(reached) if matching else ():
            if self.random.random() < _PROBED:
                probe = partial(self.clients[f"{name}.0"].publish_message, self.random.choice(matching))
                self.memory.after(self.random.choice(_PROBE_PAUSES), probe)

    # --- checks

    def check(self) -> None:
        """Wait until the network has settled, publish at every router, and compare tables, packets and deliveries.

        While a router keeps an earlier version, more packets are sent than in the simulator.
        """
        memory, began = self.memory, self.memory.now
        memory.run(CONVERGENCE)
        while not self.truth.is_settled() and memory.now - began < 2 * CONVERGENCE:
            memory.run(0.1)
        is_settled = self.truth.is_settled()
        self.record(SettleEvent(memory.now, began, is_settled))
        if not is_settled:
            return
        before, packets = memory.frames["Packet"], 0
        self.record(CompareEvent(memory.now, "tables", "interfaces", [*self.truth.wrong_tables()], []))
        for name, schemes in self.truth.schemes().items():
            client = self.clients[f"{name}.0"]
            scheme = schemes[crc32(client.name.encode()) % self._trees % len(schemes)]
            for message in MESSAGES:
                client.publish_message(message)
                packets += deliver(scheme, scheme.network.graph.id(name), message).cost
        memory.run(_DELAY + 0.1)
        self.record(CompareEvent(memory.now, "packets", "network", memory.frames["Packet"] - before, packets))
