"""Month: does a network deliver as it must through a month of failures, squeezed into an hour of a clock of its own?

Routers and clients in memory; links, routers and clients fail at random times and are mended (`month_failures`),
messages are published all the while, at a steady rate, and items requested. Each message (`month_ledger`) and each
request (`month_requests`) is judged by whether the network was quiet: every router knows what is so (`month_truth`).
After the last change it must be quiet again within `LIMIT`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.errors import InputError
from cbnet.lab.bench.soak.delivery_ledger import PATIENCE, Counts, Ledger
from cbnet.lab.bench.soak.failure_schedule import HOUR, Failures
from cbnet.lab.bench.soak.ground_truth import Truth
from cbnet.lab.bench.soak.request_ledger import Requests
from cbnet.language.message import Message
from cbnet.network import MemoryClient, MemoryNetwork, Settings
from cbnet.topology import Graph, topology

if TYPE_CHECKING:
    from cbnet.lab.bench.bench_input import Report

LIMIT = 9.0  # seconds: what is silent is given up after 3.5, on either side; dialled again; then records flow
_MOST_WAITS = 20  # times of `LIMIT`, in the end
_LOOK = 0.05  # seconds between two looks whether everybody knows
_CLIENTS = 2  # at each router
_SUBSCRIPTIONS = 2  # of each client
_REQUESTS = 5  # times fewer than messages
_OF_REQUESTS = ("requests", "replies", "from_caches", "without", "timeouts", "unanswered_quiet", "endless")
_SYMBOLS = "ABCDEFGHIJ"


@dataclass(frozen=True)
class MonthPlan:
    """What is to be run."""

    topology: str = "powerlaw:20"
    hours: float = 1.0
    rate: float = 5.0  # messages in a second
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.hours <= 1000:
            raise InputError(f"--hours must be above 0 and at most 1000, not {self.hours:g}")
        if not 0 < self.rate <= 1000:
            raise InputError(f"--rate must be above 0 and at most 1000, not {self.rate:g}")


@dataclass(frozen=True)
class Recovery:
    """The time from something that changed in a quiet network until it was quiet again."""

    kinds: Sequence[str]  # what happened meanwhile, in this order
    seconds: float  # since the first of it
    since_last: float


@dataclass
class MonthOutcome:
    """What became of the messages, and how the network recovered."""

    plan: MonthPlan
    scheme: str
    routers: int
    links: int
    clients: int
    counts: Counts
    happened: Counter[str]
    recoveries: list[Recovery] = field(default_factory=list)
    is_settled: bool = False  # whether the network was quiet in the end
    quiet_share: float = 0.0  # of the time

    @property
    def is_good(self) -> bool:
        """Whether everything was as it must be."""
        return self.counts.is_right and self.is_settled and all(each.since_last <= LIMIT for each in self.recoveries)

    @property
    def times(self) -> tuple[float, float, float]:
        """The time of a recovery in seconds: p50, p95, the longest."""
        seconds = [each.seconds for each in self.recoveries] or [0.0]
        p50, p95, worst = np.percentile(seconds, (50, 95, 100)).tolist()
        return p50, p95, worst

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        counts = self.counts
        p50, p95, worst = self.times
        return {
            "scheme": self.scheme, "topology": self.plan.topology, "hours": self.plan.hours, "rate": self.plan.rate,
            "seed": self.plan.seed, "routers": self.routers, "links": self.links, "clients": self.clients,
            "messages": counts.messages, "quiet_messages": counts.quiet, "quiet_share": round(self.quiet_share, 4),
            "delivered": counts.delivered, "missed_quiet": counts.missed_quiet,
            "missed_changing": counts.missed_changing, "twice": counts.twice, "spurious": counts.spurious,
            **{name: getattr(counts, name) for name in _OF_REQUESTS},
            "happened": dict(sorted(self.happened.items())), "recoveries": len(self.recoveries),
            "p50_s": round(p50, 3), "p95_s": round(p95, 3), "worst_s": round(worst, 3), "is_good": self.is_good,
            "wrong": counts.examples,
        }  # fmt: skip


def bench_month(plan: MonthPlan, scheme: str, report: Report) -> MonthOutcome:
    """Run one scheme through it."""
    return _Month(plan, scheme).run(report)


class _Month:
    """One run."""

    def __init__(self, plan: MonthPlan, scheme: str) -> None:
        graph = topology(plan.topology, seed=plan.seed)
        self._plan = plan
        self._memory = memory = MemoryNetwork(plan.seed)
        self._random = Random(f"messages {plan.seed}")  # apart, so that all schemes have the same month
        self._clients: dict[str, MemoryClient] = {}
        self._ledger = Ledger(self._clients)
        self._requests = Requests(self._clients, self._ledger.counts, plan.seed)
        self._truth = Truth(memory, self._clients)
        self._failures = Failures(memory, graph, self._clients, self._disturb, self._wish, plan.seed)
        self._ids = 0
        self._lay_out(graph, scheme)
        sizes = len(graph), len(memory.cables(cut=False)), len(self._clients)
        self._outcome = MonthOutcome(plan, scheme, *sizes, self._ledger.counts, self._failures.happened)
        self._is_quiet = True
        self._kinds: list[str] = []  # what happened since it was quiet
        self._began = self._last = self._quiet_for = 0.0

    def run(self, report: Report) -> MonthOutcome:
        """Let the time pass, and a little more until all is quiet."""
        memory, seconds, said = self._memory, self._plan.hours * HOUR, self._outcome.scheme
        self._disturb("the start")
        memory.run(LIMIT)
        self._outcome.recoveries.clear()  # the start is none
        self._quiet_for, self._last = 0.0, memory.now
        memory.every(1 / self._plan.rate, self._publish)
        memory.every(_REQUESTS / self._plan.rate, self._request)
        self._failures.plan(seconds)
        start, end = memory.now, memory.now + seconds
        while memory.now < end:
            report(f"{said}: minute {(memory.now - start) / 60:.0f} of {seconds / 60:.0f}")
            memory.run(min(PATIENCE, end - memory.now))
            self._settle()
        self._end()
        self._outcome.quiet_share = self._quiet_for / (memory.now - start)
        return self._outcome

    def _end(self) -> None:
        """Wait until what has failed is mended and all is quiet; then judge what was published last."""
        for _ in range(_MOST_WAITS):
            if self._is_quiet:
                break
            self._memory.run(LIMIT)
            self._settle()
        self._outcome.is_settled = self._is_quiet
        self._memory.run(2 * PATIENCE)
        self._settle()
        if self._is_quiet:
            self._quiet_for += self._memory.now - self._last

    def _settle(self) -> None:
        self._ledger.settle(self._memory.now)
        self._requests.settle(self._memory.now)

    # --- the network

    def _lay_out(self, graph: Graph, scheme: str) -> None:
        for node in graph.names:
            self._memory.add(Settings(str(node), scheme=scheme))
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
        self._ledger.subscribed((client.name, self._ids), text)
        client.subscribe(self._ids, text)

    def _wish(self, client: MemoryClient) -> None:
        """Give a client another subscription in the place of one."""
        client.unsubscribe(self._random.choice(list(client.subscriptions)))
        self._subscribe(client)

    def _publish(self) -> None:
        random = self._random
        message = Message(
            {"symbol": random.choice(_SYMBOLS), "price": random.choice((5, 50, 700))},
            ["urgent"] if random.random() < 0.2 else [],
        )
        client = self._anybody()
        if client is None:
            return
        reached = self._reached(client)
        payload = self._ledger.published(message, self._memory.now, reached, is_quiet=self._is_quiet)
        client.publish(dict(message.attributes), payload, tuple(message.tags))

    def _request(self) -> None:
        client = self._anybody()
        if client is not None:
            self._requests.send(client, self._reached(client), self._memory.now, is_quiet=self._is_quiet)

    def _anybody(self) -> MemoryClient | None:
        """Return a client that believes it is connected, and reads."""
        ready = [each for each in self._clients.values() if each.end is not None and not each.is_frozen]
        return self._random.choice(ready) if ready else None

    def _reached(self, client: MemoryClient) -> set[str]:
        return self._truth.reached(client.router) if client.router in self._truth.running() else set()

    # --- quiet or not

    def _disturb(self, kind: str) -> None:
        now = self._memory.now
        self._ledger.disturb()
        self._requests.disturb()
        if self._is_quiet:
            self._quiet_for += now - self._last
            self._is_quiet, self._began = False, now
            self._kinds = []
            self._memory.after(_LOOK, self._look)
        self._kinds.append(kind)
        self._last = now

    def _look(self) -> None:
        if self._failures.given_up or not self._truth.is_known():
            self._memory.after(_LOOK, self._look)
            return
        now = self._memory.now
        self._outcome.recoveries.append(Recovery(self._kinds, now - self._began, now - self._last))
        self._is_quiet, self._last = True, now
