"""The soak test: a month of failures in one hour of simulated time, with every delivery checked.

Routers and clients run in memory. Links, routers and clients fail at random times and are repaired, while messages are
published and items requested at a steady rate. Whether the network has settled, that is, every router knows the actual
state, is read from the simulation (`simulation`). After the last change it must have settled within `MAX_RECOVERY`.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from cbnet.language.message import Message
from cbnet.network import MemoryClient, MemoryNetwork, Settings
from cbnet.network.protocol.frames import Frame, ItemField, PullFailure, PullReply
from cbnet.network.simulation.memory_network import ConnectionEnd
from cbnet.topology import Graph, topology
from cbnet_lab.bench.plan_options import Routing
from cbnet_lab.bench.plans import Report
from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.driver.driver import Fault, FaultRate, random_schedule
from cbnet_lab.faults.plans import MonthPlan
from cbnet_lab.faults.record import AnswerEvent, BeginEvent, RequestEvent, RunEvent, SettleEvent, SubscribeEvent
from cbnet_lab.faults.simulation import RecordedClient, Simulation

HOUR = 3600.0  # seconds
MAX_RECOVERY = 9.0  # seconds: a silent link is dropped after 3.5 on either side, dialled again, then records flow
_DELAY = 9.0  # seconds after which a message counts as missed: covers the longest paths and stalled clients
_MAX_WAITS = 20  # maximum number of waits of `MAX_RECOVERY` at the end
_POLL = 0.05  # interval of convergence checks, in seconds
_CLIENTS = 2  # at each router
_SUBSCRIPTIONS = 2  # of each client
_REQUESTS = 5  # messages per request
_ITEMS = 10  # each offered by every tenth client
_TIMEOUT, _SLACK = 5.0, 4.0  # of requests, in seconds; slack: additional delay by links and stalled clients
_SYMBOLS = "ABCDEFGHIJ"
_PRICES = (5, 50, 700)
_CONDITIONS = ("", " and price < 10", " and price < 100", " and price > 500", " and #urgent")


def month_schedule(graph: Graph, clients: Sequence[str], hours: float, seed: int) -> list[Fault]:
    """Return the faults of a month in which each link fails twice and each router once; an hour stands for a month.

    A slow client reads nothing for up to a second, which is not a change: it must not miss anything. A client that
    stalls is dropped.
    """
    random, routers = Random(f"failures {seed}"), [str(name) for name in graph.names]
    links = [f"{graph.name(u)}-{graph.name(v)}" for u, v, _ in graph.edges()]
    groups = [_group(graph, random) for _ in routers]
    return random_schedule(
        random,
        [
            FaultRate("cut", links, 0.5 * len(links) / HOUR, 20.0),
            FaultRate("half-noticed cut", links, len(links) / HOUR, 20.0),
            FaultRate("silent cut", links, 0.5 * len(links) / HOUR, 20.0),
            FaultRate("partition", groups, 4.0 / HOUR, 30.0),
            FaultRate("kill", routers, 0.5 * len(routers) / HOUR, 15.0),
            FaultRate("silent kill", routers, 0.5 * len(routers) / HOUR, 15.0),
            FaultRate("leave", clients, 0.7 * len(clients) / HOUR, 10.0),
            FaultRate("leave silently", clients, 0.7 * len(clients) / HOUR, 10.0),
            FaultRate("stall", clients, 0.6 * len(clients) / HOUR, 6.0),
            FaultRate("slow", clients, 2.0 * len(clients) / HOUR, 0.5),
            FaultRate("resubscribe", clients, 2.0 * len(clients) / HOUR),
        ],
        first=0.0,
        last=hours * HOUR,
    )


def _group(graph: Graph, random: Random) -> str:
    """Return about half of the routers, connected to each other."""
    group = [random.randrange(len(graph))]
    for node in group:  # grows during the loop
        near = [other for other in graph.neighbours(node).tolist() if other not in group]
        group += near[: max(0, len(graph) // 2 - len(group))]
    return ",".join(str(graph.name(node)) for node in group)


class Month(Simulation):
    """A run with one routing."""

    def __init__(self, plan: MonthPlan, routing: Routing) -> None:
        graph = topology(plan.topology, seed=plan.seed)
        begin = BeginEvent(0.0, len(graph), _SLACK, MAX_RECOVERY, _DELAY, harmless=["slow"])
        super().__init__(MemoryNetwork(plan.seed), begin, {"resubscribe": self._resubscribe})
        self._plan = plan
        self._random = Random(f"messages {plan.seed}")  # separate, so that all runs see the same failures
        self._ids = self._requested = 0
        self._requests: dict[int, tuple[MemoryClient, ConnectionEnd]] = {}  # open requests
        self._is_over = False  # whether publishing has ended
        self._build(graph, routing)
        self._schedule = month_schedule(graph, [*self.clients], plan.hours, plan.seed)

    def _build(self, graph: Graph, routing: Routing) -> None:
        for node in map(str, graph.names):
            self.memory.add(Settings(node, **routing.settings))
            for number in range(_CLIENTS):
                client = RecordedClient(self, f"{node}.{number}", node)
                client.on_answer = self._answered
                self._offer(client, (len(self.clients) - 1) % _ITEMS)
                for _ in range(_SUBSCRIPTIONS):
                    self._subscribe(client)
        for u, v, _ in graph.edges():
            self.memory.add_cable(str(graph.name(u)), str(graph.name(v)))

    def run(self, report: Report) -> Findings:
        """Run for the planned time, then until the network has settled."""
        memory, seconds = self.memory, self._plan.hours * HOUR
        self._poll()
        memory.run(MAX_RECOVERY)
        memory.every(1 / self._plan.rate, self._publish)
        memory.every(_REQUESTS / self._plan.rate, self._request)
        memory.every(HOUR / 60, lambda: report(f"minute {memory.now / 60:.0f} of {seconds / 60:.0f}"))
        self.driver.run(self._schedule, seconds)
        self.driver.end_all()
        for _ in range(_MAX_WAITS):
            if not self.checker.is_settled:
                memory.run(MAX_RECOVERY)
        memory.run(_DELAY)
        self._is_over = True
        memory.run(_DELAY)
        if not (self.checker.is_settled and self.truth.is_quiet()):
            self.record(SettleEvent(memory.now, self.checker.changed, is_settled=False))
        return self.end()

    def record(self, event: RunEvent) -> None:
        """Check an event; after a change, poll until the network has settled again."""
        was_settled = self.checker.is_settled
        super().record(event)
        if was_settled and not self.checker.is_settled:
            self.memory.after(_POLL, self._poll)

    def _poll(self) -> None:
        is_stalled = any(fault.kind == "stall" for fault in self.driver.active)
        if is_stalled or not self.truth.is_converged():
            self.memory.after(_POLL, self._poll)
        else:
            self.record(SettleEvent(self.memory.now, self.checker.changed))

    # --- load

    def _subscribe(self, client: RecordedClient) -> None:
        self._ids += 1
        client.subscribe(self._ids, f'symbol = "{self._random.choice(_SYMBOLS)}"' + self._random.choice(_CONDITIONS))

    def _resubscribe(self, fault: Fault) -> bool:
        """Replace a subscription of a client by another."""
        client = self.clients[fault.of]
        client.unsubscribe(self._random.choice(list(client.subscriptions)))
        self._subscribe(client)
        return True

    def _offer(self, client: RecordedClient, item: int) -> None:
        text = f"item = {item}"
        client.offer(item, text, lambda _: ItemField({"item": item, "of": client.name}, [], b"", None))
        self.record(SubscribeEvent(self.memory.now, client.name, client.name, client.router, text, kind="offer"))

    def _publish(self) -> None:
        random, client = self._random, self._ready_client()
        tags = ["urgent"] if random.random() < 0.2 else []
        message = Message({"symbol": random.choice(_SYMBOLS), "price": random.choice(_PRICES)}, tags)
        if client is not None:
            client.publish_message(message)

    def _request(self) -> None:
        for number, (client, end) in [*self._requests.items()]:
            if client.end is not end:
                self._end_request(AnswerEvent(self.memory.now, number, "gone"))
        requester = self._ready_client()
        if requester is None or requester.end is None:
            return
        self._requested += 1
        number, request = self._requested, {"item": self._random.randrange(_ITEMS)}
        reach = self.truth.reached(requester.router)
        self.record(RequestEvent(self.memory.now, requester.name, number, request, _TIMEOUT, reach))
        self._requests[number] = requester, requester.end
        requester.request(number, Message(request), timeout=_TIMEOUT, is_fresh=self._random.random() < 0.5)

    def _answered(self, frame: Frame) -> None:
        now = self.memory.now
        if isinstance(frame, PullReply):
            outcome = "cached reply" if frame.cache else "reply"
            self._end_request(AnswerEvent(now, frame.number, outcome, dict(frame.attributes)))  # type: ignore[arg-type]
        elif isinstance(frame, PullFailure):
            self._end_request(AnswerEvent(now, frame.number, "timeout" if frame.is_late else "no holder"))

    def _end_request(self, event: AnswerEvent) -> None:
        self._requests.pop(event.number, None)
        self.record(event)

    def _ready_client(self) -> RecordedClient | None:
        """Return a client that believes it is connected and is not stalled."""
        ready = [each for each in self.clients.values() if each.end is not None and not each.is_frozen]
        return self._random.choice(ready) if ready and not self._is_over else None
