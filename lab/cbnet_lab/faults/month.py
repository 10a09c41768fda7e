"""The soak test: a month of failures in one hour of simulated time, with every delivery checked.

Routers and clients run in memory. Links, routers and clients fail at random times and are repaired, while messages are
published and items requested at a steady rate. Whether the network has settled, that is, every router knows the actual
state, is read from the simulation (`ground_truth`). After the last change it must have settled within `MAX_RECOVERY`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.cli.console import plural
from cbnet.language.message import Message
from cbnet.network import MemoryClient, MemoryNetwork, Settings
from cbnet.network.link.counters import Event as Counted
from cbnet.network.protocol.frames import Frame, ItemField, PullFailure, PullReply
from cbnet.network.simulation.memory_network import ConnectionEnd
from cbnet.topology import Graph, topology
from cbnet_lab.bench.result_table import ResultTable, percent
from cbnet_lab.faults.check.checker import Checker
from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.driver.driver import FaultDriver
from cbnet_lab.faults.driver.memory import MemoryFaults
from cbnet_lab.faults.driver.schedule import Fault, FaultRate, random_schedule
from cbnet_lab.faults.ground_truth import GroundTruth
from cbnet_lab.faults.load import RecordedClient
from cbnet_lab.faults.record import (
    AnswerEvent,
    BeginEvent,
    EndEvent,
    FaultEvent,
    RequestEvent,
    SettleEvent,
    SubscribeEvent,
)

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.bench.routing import Routing
    from cbnet_lab.faults.plans import MonthPlan

HOUR = 3600.0  # seconds
MAX_RECOVERY = 9.0  # seconds: a silent link is dropped after 3.5 on either side, dialled again, then records flow
_DELAY = 9.0  # seconds after which a message counts as missed: covers the longest paths and stalled clients
_MAX_WAITS = 20  # of `MAX_RECOVERY`, at the end
_POLL = 0.05  # interval of convergence checks, in seconds
_CLIENTS = 2  # at each router
_SUBSCRIPTIONS = 2  # of each client
_REQUESTS = 5  # messages per request
_ITEMS = 10  # each offered by every tenth client
_TIMEOUT, _SLACK = 5.0, 4.0  # seconds, of requests; slack: additional delay on links, and of stalled clients
_MAX_EXAMPLES = 20
_SYMBOLS = "ABCDEFGHIJ"
_PRICES = (5, 50, 700)
_CONDITIONS = ("", " and price < 10", " and price < 100", " and price > 500", " and #urgent")
_TABLES = {  # by title: the heads, and the counts below them
    "Messages": {
        "messages": "messages", "quiet": "quiet_messages", "delivered": "delivered", "missed: quiet": "missed_quiet",
        "changing": "missed_changing", "twice": "twice", "spurious": "spurious", "order": "order",
    },
    "Requests": {
        "requests": "requests", "replies": "replies", "from caches": "from_caches", "no item": "without",
        "timeouts": "timeouts", "missed: quiet": "unanswered_quiet", "no end": "endless",
    },
    "Packets between routers": {
        "sent": "packets_sent", "retried": "packets_retried", "unpruned": "packets_unpruned",
    },
}  # fmt: skip
_GUARANTEES = {  # by text: kinds of violations
    "Messages missed while the network is quiet": ["lost"],
    "Duplicates": ["repeated"],
    "Spurious deliveries": ["spurious", "wrong reply"],
    "Deliveries out of order while the network is quiet": ["order"],
    "Requests without an end, or without a reply in a quiet network": ["endless", "no reply"],
    f"Recoveries not complete {MAX_RECOVERY:g} s after the last change": ["unsettled"],
}
_PACKET_COUNTS = (Counted.PACKETS_SENT, Counted.PACKETS_RETRIED, Counted.PACKETS_UNPRUNED)


def month_schedule(graph: Graph, clients: Sequence[str], hours: float, seed: int) -> list[Fault]:
    """Return the faults of a month in which each link fails twice and each router once; an hour stands for a month.

    A slow client reads nothing for a second: no change, and it must miss nothing. One that stalls is dropped.
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
    """Return about half of the routers, connected with each other."""
    group = [random.randrange(len(graph))]
    for node in group:  # grows during the loop
        near = [other for other in graph.neighbours(node).tolist() if other not in group]
        group += near[: max(0, len(graph) // 2 - len(group))]
    return ",".join(str(graph.name(node)) for node in group)


@dataclass
class MonthOutcome:
    """The findings of a run."""

    plan: MonthPlan
    routing: Routing
    routers: int
    links: int
    clients: int
    found: Findings
    quiet_share: float = 0.0  # of the time
    packets: Counter[str] = field(default_factory=Counter)  # counters of all routers

    @property
    def problem(self) -> str | None:
        """The violated guarantees, if there are any."""
        return None if self.found.is_good else f"guarantees violated with --trees {self.routing}: please report this"

    @property
    def events(self) -> Counter[str]:
        """The faults and their ends, by kind."""
        return self.found.faults + Counter({f"end of {kind}": count for kind, count in self.found.ends.items()})

    @property
    def times(self) -> tuple[float, float, float]:
        """Recovery times in seconds: p50, p95, maximum."""
        seconds = [each.seconds for each in self.found.recoveries] or [0.0]
        p50, p95, worst = np.percentile(seconds, (50, 95, 100)).tolist()
        return p50, p95, worst

    def counts(self) -> dict[str, int]:
        """Return the counts of messages, requests and packets."""
        counts, number = self.found.counts, self.found.number
        return {
            "messages": counts["published"], "quiet_messages": counts["settled"], "delivered": counts["received"],
            "missed_quiet": number("lost"), "missed_changing": counts["missed"], "twice": number("repeated"),
            "spurious": number("spurious", "wrong reply"), "order": number("order"), "requests": counts["requests"],
            "replies": counts["reply"] + counts["cached reply"], "from_caches": counts["cached reply"],
            "without": counts["no holder"], "timeouts": counts["timeout"], "unanswered_quiet": number("no reply"),
            "endless": number("endless"), **{str(name): self.packets[name] for name in _PACKET_COUNTS},
        }  # fmt: skip

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        p50, p95, worst = self.times
        return {
            "trees": str(self.routing), "topology": self.plan.topology, "hours": self.plan.hours,
            "rate": self.plan.rate, "seed": self.plan.seed, "routers": self.routers, "links": self.links,
            "clients": self.clients, "quiet_share": round(self.quiet_share, 4), **self.counts(),
            "events": dict(sorted(self.events.items())), "recoveries": len(self.found.recoveries),
            "p50_s": round(p50, 3), "p95_s": round(p95, 3), "worst_s": round(worst, 3), "is_good": self.found.is_good,
            "violations": [*self.found.texts()][:_MAX_EXAMPLES],
        }  # fmt: skip


class Month:
    """A run with one routing."""

    def __init__(self, plan: MonthPlan, routing: Routing) -> None:
        graph = topology(plan.topology, seed=plan.seed)
        self._plan = plan
        self._memory = memory = MemoryNetwork(plan.seed)
        self._random = Random(f"messages {plan.seed}")  # separate, so that all runs see the same failures
        begin = BeginEvent(0.0, len(graph), _SLACK, MAX_RECOVERY, _DELAY, harmless=["slow"])
        self._record = (checker := Checker(begin)).add
        self._checker = checker
        self._clients: dict[str, RecordedClient] = {}
        self._truth = GroundTruth(memory, self._clients)
        self._ids = 0
        self._requests: dict[int, tuple[MemoryClient, ConnectionEnd]] = {}  # open ones
        self._build(graph, routing)
        faults = MemoryFaults(memory, self._clients, {"resubscribe": self._resubscribe})
        self._driver = FaultDriver(faults, self._note, self._keep_counters)
        self._schedule = month_schedule(graph, [*self._clients], plan.hours, plan.seed)
        sizes = len(graph), len(memory.cables(cut=False)), len(self._clients)
        self._outcome = MonthOutcome(plan, routing, *sizes, checker.findings)
        self._is_settled = True
        self._is_over = False  # nothing more is published
        self._last = self._quiet_for = 0.0
        self._counters: dict[int, Counter[str]] = {}  # of all routers, also of those that were killed

    def _build(self, graph: Graph, routing: Routing) -> None:
        for node in map(str, graph.names):
            self._memory.add(Settings(node, **routing.settings))
            for number in range(_CLIENTS):
                client = self._clients[f"{node}.{number}"] = RecordedClient(
                    self._memory, f"{node}.{number}", node, self._record, self._truth
                )
                client.on_answer = self._answered
                self._offer(client, (len(self._clients) - 1) % _ITEMS)
                for _ in range(_SUBSCRIPTIONS):
                    self._subscribe(client)
        for u, v, _ in graph.edges():
            self._memory.add_cable(str(graph.name(u)), str(graph.name(v)))

    def run(self, report: Report) -> MonthOutcome:
        """Run for the planned time, then until the network has settled."""
        memory, seconds, routing = self._memory, self._plan.hours * HOUR, self._outcome.routing
        self._note(FaultEvent(0.0, "network", "start"))
        memory.run(MAX_RECOVERY)
        self._checker.findings.recoveries.clear()  # the start is not a recovery
        self._checker.findings.faults.clear()
        self._quiet_for, self._last = 0.0, memory.now
        start = memory.now
        memory.every(1 / self._plan.rate, self._publish)
        memory.every(_REQUESTS / self._plan.rate, self._request)
        memory.every(HOUR / 60, lambda: report(f"trees {routing}: minute {memory.now / 60:.0f} of {seconds / 60:.0f}"))
        self._driver.run(self._schedule, seconds)
        self._driver.end_all()
        for _ in range(_MAX_WAITS):
            if not self._is_settled:
                memory.run(MAX_RECOVERY)
        memory.run(_DELAY)
        self._is_over = True
        memory.run(_DELAY)
        if self._is_settled:
            self._quiet_for += memory.now - self._last
        if not (self._is_settled and self._truth.is_quiet()):
            self._record(SettleEvent(memory.now, self._last, is_settled=False))
        self._record(EndEvent(memory.now, {}))
        self._checker.end()
        self._keep_counters()
        self._outcome.quiet_share = self._quiet_for / (memory.now - start)
        self._outcome.packets = sum(self._counters.values(), Counter())
        return self._outcome

    # --- load

    def _subscribe(self, client: RecordedClient) -> None:
        self._ids += 1
        client.subscribe(self._ids, f'symbol = "{self._random.choice(_SYMBOLS)}"' + self._random.choice(_CONDITIONS))

    def _resubscribe(self, fault: Fault) -> bool:
        """Replace a subscription of a client by another."""
        client = self._clients[fault.of]
        client.unsubscribe(self._random.choice(list(client.subscriptions)))
        self._subscribe(client)
        return True

    def _offer(self, client: RecordedClient, item: int) -> None:
        text = f"item = {item}"
        client.offer(item, text, lambda _: ItemField({"item": item, "of": client.name}, [], b"", None))
        self._record(SubscribeEvent(self._memory.now, client.name, client.name, client.router, text, kind="offer"))

    def _publish(self) -> None:
        random, client = self._random, self._ready_client()
        tags = ["urgent"] if random.random() < 0.2 else []
        message = Message({"symbol": random.choice(_SYMBOLS), "price": random.choice(_PRICES)}, tags)
        if client is not None:
            client.publish_message(message)

    def _request(self) -> None:
        for number, (client, end) in [*self._requests.items()]:
            if client.end is not end:
                self._end_request(AnswerEvent(self._memory.now, number, "gone"))
        requester = self._ready_client()
        if requester is None or requester.end is None:
            return
        number, request = self._checker.findings.counts["requests"], {"item": self._random.randrange(_ITEMS)}
        reach = self._truth.reached(requester.router)
        self._record(RequestEvent(self._memory.now, requester.name, number, request, _TIMEOUT, reach))
        self._requests[number] = requester, requester.end
        requester.request(number, Message(request), timeout=_TIMEOUT, is_fresh=self._random.random() < 0.5)

    def _answered(self, frame: Frame) -> None:
        now = self._memory.now
        if isinstance(frame, PullReply):
            outcome = "cached reply" if frame.cache else "reply"
            self._end_request(AnswerEvent(now, frame.number, outcome, dict(frame.attributes)))  # type: ignore[arg-type]
        elif isinstance(frame, PullFailure):
            self._end_request(AnswerEvent(now, frame.number, "timeout" if frame.is_late else "no holder"))

    def _end_request(self, event: AnswerEvent) -> None:
        self._requests.pop(event.number, None)
        self._record(event)

    def _ready_client(self) -> RecordedClient | None:
        """Return a client that believes it is connected and is not stalled."""
        ready = [each for each in self._clients.values() if each.end is not None and not each.is_frozen]
        return self._random.choice(ready) if ready and not self._is_over else None

    # --- changes

    def _note(self, event: FaultEvent) -> None:
        """Record a fault; wait until the network has settled again."""
        self._record(event)
        if event.kind == "slow":
            return
        if self._is_settled:
            self._quiet_for += event.at - self._last
            self._is_settled = False
            self._memory.after(_POLL, self._poll)
        self._last = event.at

    def _keep_counters(self, _: Fault | None = None) -> None:
        """Remember the counters of the routers that run: the next change may kill one."""
        counters = (router.counters for router in self._truth.running().values())
        self._counters.update((id(each), each) for each in counters)

    def _poll(self) -> None:
        is_stalled = any(fault.kind == "stall" for fault in self._driver.active)
        if is_stalled or not self._truth.is_converged():
            self._memory.after(_POLL, self._poll)
            return
        self._record(SettleEvent(self._memory.now, self._last))
        self._is_settled, self._last = True, self._memory.now


def run(plan: MonthPlan, report: Report) -> Iterator[MonthOutcome]:
    """Run the soak test with each routing."""
    return (Month(plan, routing).run(report) for routing in plan.trees)


def tables(
    plan: MonthPlan, rows: Sequence[MonthOutcome]
) -> Iterator[str | ResultTable[MonthOutcome] | ResultTable[Sequence[object]]]:
    """Yield the messages, the faults, the recovery times and whether the guarantees held."""
    first = rows[0]
    sizes = plural(first.routers, "router"), plural(first.links, "link"), plural(first.clients, "client")
    yield (
        f"{plan.topology}, seed {plan.seed}: {', '.join(sizes)}; {plan.hours:g} h of simulated time, "
        f"{plan.rate:g} messages per second\n"
    )
    for title, columns in _TABLES.items():
        counts = {head: lambda row, name=name: row.counts()[name] for head, name in columns.items()}
        yield ResultTable(title, rows, {"trees": "routing", **counts})
    yield ResultTable("Recoveries: from a change in a converged network until it has converged again", rows, {
        "trees": "routing",
        "times": lambda row: len(row.found.recoveries),
        "p50 s": lambda row: row.times[0],
        "p95": lambda row: row.times[1],
        "longest": lambda row: row.times[2],
        "time quiet": lambda row: percent(row.quiet_share),
    })  # fmt: skip
    heads = ("event", "times", "alone", "p50", "longest")
    columns_of = {head: lambda row, number=number: row[number] for number, head in enumerate(heads)}
    yield ResultTable("Recovery time in seconds", [*_recoveries(rows)], columns_of)
    for text, kinds in _GUARANTEES.items():
        wrong = sum(row.found.number(*kinds) for row in rows)
        yield f"guaranteed    {text}: {wrong:,}{' (BROKEN)' if wrong else ''}."
    yield f"best effort   Deliveries missed during changes: {sum(row.found.counts['missed'] for row in rows):,}."
    for row in rows:
        yield from row.members()["violations"]


def _recoveries(rows: Sequence[MonthOutcome]) -> Iterator[Sequence[object]]:
    """Yield each kind of event, and the recovery times of those that happened alone."""
    seconds: dict[str, list[float]] = {}
    for each in (each for row in rows for each in row.found.recoveries if len(each.kinds) == 1):
        seconds.setdefault(each.kinds[0], []).append(each.seconds)
    for kind, count in sorted(sum((row.events for row in rows), Counter[str]()).items()):
        alone = seconds.get(kind, [])
        yield kind, count, len(alone), float(np.median(alone)) if alone else None, max(alone, default=None)
