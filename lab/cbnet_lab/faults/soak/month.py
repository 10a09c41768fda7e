"""The soak test: a month of failures in one hour of simulated time, with every delivery checked.

Routers and clients run in memory. Links, routers and clients fail at random times and are repaired
(`failure_schedule`) while messages are published and items requested at a steady rate. Each message
(`delivery_ledger`) and each request (`request_ledger`) is checked by whether the network had converged, that is, every
router knew the actual state (`ground_truth`). After the last change it must be quiet again within `MAX_RECOVERY`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.errors import InputError
from cbnet.language.message import Message
from cbnet.network import MemoryClient, MemoryNetwork, Settings
from cbnet.network.link.counters import Event
from cbnet.topology import Graph, topology
from cbnet_lab.bench.routing import Routing
from cbnet_lab.faults.soak.delivery_ledger import DELIVERY_TIMEOUT, DeliveryLedger, SoakCounts
from cbnet_lab.faults.soak.failure_schedule import HOUR, FailureSchedule
from cbnet_lab.faults.soak.ground_truth import GroundTruth
from cbnet_lab.faults.soak.request_ledger import RequestLedger

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import Report

MAX_RECOVERY = 9.0  # seconds: a silent link is dropped after 3.5 on either side, dialled again, then records flow
_MAX_WAITS = 20  # of `MAX_RECOVERY`, at the end
_POLL = 0.05  # interval of convergence checks, in seconds
_CLIENTS = 2  # at each router
_SUBSCRIPTIONS = 2  # of each client
_REQUESTS = 5  # messages per request
_REQUEST_COUNTS = ("requests", "replies", "from_caches", "without", "timeouts", "unanswered_quiet", "endless")
_SYMBOLS = "ABCDEFGHIJ"
_PRICES = (5, 50, 700)
_MESSAGES = [  # all that are published
    Message({"symbol": symbol, "price": price}, tags)
    for symbol in _SYMBOLS
    for price in _PRICES
    for tags in ([], ["urgent"])
]
_PACKET_COUNTS = (Event.PACKETS_SENT, Event.PACKETS_RETRIED, Event.PACKETS_UNPRUNED)


@dataclass(frozen=True)
class MonthPlan:
    """The parameters of a run."""

    topology: str = "powerlaw:20"
    hours: float = 1.0
    rate: float = 5.0  # messages per second
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.hours <= 1000:
            raise InputError(f"--hours must be above 0 and at most 1000, not {self.hours:g}")
        if not 0 < self.rate <= 1000:
            raise InputError(f"--rate must be above 0 and at most 1000, not {self.rate:g}")


@dataclass(frozen=True)
class Recovery:
    """The time from a change in a converged network until it had converged again."""

    kinds: Sequence[str]  # of events, in order
    seconds: float  # since the first event
    since_last: float


@dataclass
class MonthOutcome:
    """Counts of messages and violations, and recoveries of the network."""

    plan: MonthPlan
    routing: Routing
    routers: int
    links: int
    clients: int
    counts: SoakCounts
    events: Counter[str]
    recoveries: list[Recovery] = field(default_factory=list)
    is_settled: bool = False  # whether the network was quiet at the end
    quiet_share: float = 0.0  # of the time
    packets: Counter[str] = field(default_factory=Counter)  # counters of all routers

    @property
    def is_good(self) -> bool:
        """Whether there were no violations and every recovery was in time."""
        return (
            self.counts.is_right
            and self.is_settled
            and all(each.since_last <= MAX_RECOVERY for each in self.recoveries)
        )

    @property
    def times(self) -> tuple[float, float, float]:
        """Recovery times in seconds: p50, p95, maximum."""
        seconds = [each.seconds for each in self.recoveries] or [0.0]
        p50, p95, worst = np.percentile(seconds, (50, 95, 100)).tolist()
        return p50, p95, worst

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        counts = self.counts
        p50, p95, worst = self.times
        return {
            "trees": str(self.routing), "topology": self.plan.topology, "hours": self.plan.hours,
            "rate": self.plan.rate, "seed": self.plan.seed, "routers": self.routers, "links": self.links,
            "clients": self.clients,
            "messages": counts.messages, "quiet_messages": counts.quiet, "quiet_share": round(self.quiet_share, 4),
            "delivered": counts.delivered, "missed_quiet": counts.missed_quiet,
            "missed_changing": counts.missed_changing, "twice": counts.twice, "spurious": counts.spurious,
            **{name: getattr(counts, name) for name in _REQUEST_COUNTS},
            **{str(name): self.packets[name] for name in _PACKET_COUNTS},
            "events": dict(sorted(self.events.items())), "recoveries": len(self.recoveries),
            "p50_s": round(p50, 3), "p95_s": round(p95, 3), "worst_s": round(worst, 3), "is_good": self.is_good,
            "violations": counts.examples,
        }  # fmt: skip


def bench_month(plan: MonthPlan, routing: Routing, report: Report) -> MonthOutcome:
    """Run the soak test with one routing."""
    return _Month(plan, routing).run(report)


class _Month:
    """One run."""

    def __init__(self, plan: MonthPlan, routing: Routing) -> None:
        graph = topology(plan.topology, seed=plan.seed)
        self._plan = plan
        self._memory = memory = MemoryNetwork(plan.seed)
        self._random = Random(f"messages {plan.seed}")  # separate, so that all runs see the same failures
        self._clients: dict[str, MemoryClient] = {}
        self._ledger = DeliveryLedger(self._clients)
        self._requests = RequestLedger(self._clients, self._ledger.counts, plan.seed)
        self._truth = GroundTruth(memory, self._clients, _MESSAGES)
        self._failures = FailureSchedule(memory, graph, self._clients, self._disturb, self._resubscribe, plan.seed)
        self._ids = 0
        self._build(graph, routing)
        sizes = len(graph), len(memory.cables(cut=False)), len(self._clients)
        self._outcome = MonthOutcome(plan, routing, *sizes, self._ledger.counts, self._failures.events)
        self._is_quiet = True
        self._kinds: list[str] = []  # of events since the network was quiet
        self._began = self._last = self._quiet_for = 0.0
        self._counters: dict[int, Counter[str]] = {}  # of all routers, also of those that were killed

    def run(self, report: Report) -> MonthOutcome:
        """Run for the planned time, then until the network is quiet."""
        memory, seconds, routing = self._memory, self._plan.hours * HOUR, self._outcome.routing
        self._disturb("start")
        memory.run(MAX_RECOVERY)
        self._outcome.recoveries.clear()  # the start is not a recovery
        self._quiet_for, self._last = 0.0, memory.now
        memory.every(1 / self._plan.rate, self._publish)
        memory.every(_REQUESTS / self._plan.rate, self._request)
        self._failures.plan(seconds)
        start, end = memory.now, memory.now + seconds
        while memory.now < end:
            report(f"trees {routing}: minute {(memory.now - start) / 60:.0f} of {seconds / 60:.0f}")
            memory.run(min(DELIVERY_TIMEOUT, end - memory.now))
            self._settle()
        self._finish()
        self._outcome.quiet_share = self._quiet_for / (memory.now - start)
        self._keep_counters()
        self._outcome.packets = sum(self._counters.values(), Counter())
        return self._outcome

    def _finish(self) -> None:
        """Wait until the network is repaired and quiet, then check the last messages."""
        for _ in range(_MAX_WAITS):
            if self._is_quiet:
                break
            self._memory.run(MAX_RECOVERY)
            self._settle()
        self._memory.run(2 * DELIVERY_TIMEOUT)
        self._settle()
        self._outcome.is_settled = self._is_quiet and self._truth.is_quiet()
        if self._is_quiet:
            self._quiet_for += self._memory.now - self._last

    def _settle(self) -> None:
        self._ledger.settle(self._memory.now)
        self._requests.settle(self._memory.now)

    def _build(self, graph: Graph, routing: Routing) -> None:
        for node in graph.names:
            self._memory.add(Settings(str(node), **routing.settings))
            for number in range(_CLIENTS):
                name = f"{node}.{number}"
                self._clients[name] = client = MemoryClient(self._memory, name, str(node))
                self._requests.offer(client)
                for _ in range(_SUBSCRIPTIONS):
                    self._subscribe(client)
        for u, v, _ in graph.edges():
            self._memory.add_cable(str(graph.name(u)), str(graph.name(v)))

    def _subscribe(self, client: MemoryClient) -> None:
        self._ids += 1
        text = f'symbol = "{self._random.choice(_SYMBOLS)}"'
        text += self._random.choice(("", " and price < 10", " and price < 100", " and price > 500", " and #urgent"))
        self._ledger.add_subscription((client.name, self._ids), text)
        client.subscribe(self._ids, text)

    def _resubscribe(self, client: MemoryClient) -> None:
        """Replace a subscription of a client by another."""
        client.unsubscribe(self._random.choice(list(client.subscriptions)))
        self._subscribe(client)

    def _publish(self) -> None:
        random = self._random
        message = Message(
            {"symbol": random.choice(_SYMBOLS), "price": random.choice(_PRICES)},
            ["urgent"] if random.random() < 0.2 else [],
        )
        client = self._ready_client()
        if client is None:
            return
        reached = self._reached(client)
        payload = self._ledger.add_message(message, self._memory.now, reached, is_quiet=self._is_quiet)
        client.publish(dict(message.attributes), payload, tuple(message.tags))

    def _request(self) -> None:
        client = self._ready_client()
        if client is not None:
            self._requests.send(client, self._reached(client), self._memory.now, is_quiet=self._is_quiet)

    def _ready_client(self) -> MemoryClient | None:
        """Return a client that believes it is connected and is not stalled."""
        ready = [each for each in self._clients.values() if each.end is not None and not each.is_frozen]
        return self._random.choice(ready) if ready else None

    def _reached(self, client: MemoryClient) -> set[str]:
        return self._truth.reached(client.router) if client.router in self._truth.running() else set()

    def _disturb(self, kind: str) -> None:
        now = self._memory.now
        self._keep_counters()
        self._ledger.disturb()
        self._requests.disturb()
        if self._is_quiet:
            self._quiet_for += now - self._last
            self._is_quiet, self._began = False, now
            self._kinds = []
            self._memory.after(_POLL, self._poll)
        self._kinds.append(kind)
        self._last = now

    def _keep_counters(self) -> None:
        """Remember the counters of the routers that run: the next change may kill one."""
        counters = (router.counters for router in self._truth.running().values())
        self._counters.update((id(each), each) for each in counters)

    def _poll(self) -> None:
        if self._failures.dropped_clients or not self._truth.is_converged():
            self._memory.after(_POLL, self._poll)
            return
        now = self._memory.now
        self._outcome.recoveries.append(Recovery(self._kinds, now - self._began, now - self._last))
        self._is_quiet, self._last = True, now
