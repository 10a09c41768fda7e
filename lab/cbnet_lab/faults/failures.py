"""The failure benchmark: messages lost when links or routers fail under load, and for how long.

    publish at a rate ──────────┬──────────┬────────────┬───────────┬──────────►
                              fails    converged    repaired    converged

    link, silent-link   the link between the best-connected routers, through a relay that cuts or silences it
    router, routers     one or several of the best-connected routers, killed and restarted in turn
    random              up to half of the routers, the best-connected first, killed and restarted at random times

Failures never partition the other routers. The death of a process is noticed at once, without a timeout; so with
`random`, where many routers share a busy machine, no link is declared dead just because its routers wait for a
processor. No client is connected to a router that fails.

The network has converged when every running router reports that it knows all others and all their announcements. A
message counts as sent during a change if it was sent between an event and convergence, or may have been in flight at
the event; all others count as sent in a settled network. With `random`, failures may follow each other before the
network has converged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec
import numpy as np

from cbnet.errors import InputError
from cbnet.network import ProcessNetwork
from cbnet.network.link.counters import drops
from cbnet.topology import Graph, bridges, components, topology
from cbnet_lab.bench.network.load_clients import Order
from cbnet_lab.bench.network.load_processes import ReceivedDeliveries, network_load
from cbnet_lab.bench.network.throughput import PATIENT, counters_of, traffic_of
from cbnet_lab.bench.network.traffic import Traffic, expected_deliveries
from cbnet_lab.bench.plans import NetworkBenchPlan, Report
from cbnet_lab.bench.result_table import HIDDEN, ResultTable, flat
from cbnet_lab.faults import record
from cbnet_lab.faults.check.checker import settled_checker
from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.driver.driver import Fault, FaultDriver, FaultRate, random_schedule
from cbnet_lab.faults.driver.processes import ProcessFaults, ends
from cbnet_lab.faults.driver.router_output import RouterOutput

KINDS = {  # fault, and texts of failure and repair
    "link": ("cut", "link {} cut: both ends notice at once", "link restored"),
    "silent-link": ("silent cut", "link {} silent: both ends notice after 3.5 s", "link restored"),
    "router": ("kill", "router {} killed; it has no clients", "router restarted"),
    "routers": ("kill", "routers {} killed in turn; they have no clients", "each restarted"),
    "random": ("kill", "random kills of routers {}, which have no clients", "restarts"),
}
START_S = 4.0  # seconds from the first message to the first failure
PAUSE_S = 7.0  # seconds from a failure to the repair, and from there to the next failure
ROUTERS = 5  # routers that fail in turn
_KILLS = 0.3  # random kills per second
_DEFAULT = ("powerlaw:20",)
_RATE = 500.0  # messages per second, by default
_END_S = 5.0  # seconds of messages after the last event
_START = 60.0  # timeout for the network to start, in seconds
_CONVERGED = 300.0  # timeout for the network to converge, in seconds: many routers may share a busy machine
_QUIET = 2.0  # seconds without a delivery before the wait ends
_REST = 0.5  # seconds from convergence to the next event
_BURST = 1.0  # seconds: an event that follows sooner does not wait for convergence


def failure_schedule(kind: str, victims: Sequence[str], seconds: float, seed: int) -> list[Fault]:
    """Return the failures of the victims; seconds: time until which random failures begin."""
    if kind == "random":
        rates = [FaultRate("kill", victims, _KILLS, PAUSE_S / 2)]
        return random_schedule(Random(f"kills {seed}"), rates, START_S, max(seconds, START_S + 1 / _KILLS))
    return [Fault(START_S + 2 * PAUSE_S * n, KINDS[kind][0], of, PAUSE_S) for n, of in enumerate(victims)]


def choose_victims(graph: Graph, kind: str) -> list[str]:
    """Return the routers that fail, or the name of the link that fails."""
    if kind not in KINDS:
        raise InputError(f"unknown failure {kind!r}", hint=f"use one of {', '.join(KINDS)}")
    if "link" in kind:
        return ["-".join(_link(graph))]
    order = np.argsort(-graph.degrees, kind="stable").tolist()
    if kind == "random":
        chosen = _removable_together(graph, order)
    else:
        chosen = [node for node in order if _is_connected_without(graph, [node])][: ROUTERS if kind == "routers" else 1]
    if not chosen or len(chosen) == len(graph):
        hint = "use a ring, or powerlaw:20"
        raise InputError("no router of this network can fail without partitioning it", hint=hint)
    return _names(graph, chosen)


def _link(graph: Graph) -> tuple[str, str]:
    """Return the link between the best-connected nodes whose removal leaves the network connected."""
    alone = {frozenset(pair) for pair in bridges(graph)}
    degrees = graph.degrees
    links = [(degrees[u] + degrees[v], u, v) for u, v, _ in graph.edges() if frozenset((u, v)) not in alone]
    if not links:
        raise InputError("every link of this network is a bridge", hint="use a ring, or powerlaw:20")
    _, u, v = max(links)
    a, b = sorted(_names(graph, (u, v)))
    return a, b


def _removable_together(graph: Graph, order: Sequence[int]) -> list[int]:
    """Return the first nodes, at most half, that can all be removed while the others stay connected."""
    chosen: list[int] = []
    for node in order:
        if 2 * (len(chosen) + 1) <= len(graph) and _is_connected_without(graph, [*chosen, node]):
            chosen.append(node)
    return chosen


def _names(graph: Graph, nodes: Iterable[int]) -> list[str]:
    return [str(graph.name(node)) for node in nodes]


def _is_connected_without(graph: Graph, removed: Iterable[int]) -> bool:
    left = np.ones(len(graph), dtype=bool)
    left[[*removed]] = False
    return left.sum() > 1 and len(components(graph.part(left))) == 1


@dataclass(frozen=True)
class Missed:
    """Missed messages after events of one kind."""

    messages: int
    deliveries: int
    seconds: float = 0.0  # maximum time from an event until its last missed message was sent
    converged: float = 0.0  # maximum time from an event until the network had converged, in seconds


@dataclass(frozen=True)
class FailureOutcome:
    """Measurements of failures."""

    topology: str
    trees: str
    fail: str
    victims: Sequence[str]
    failures: int
    rate: float
    messages: int
    expected: int  # deliveries
    missing: int
    twice: int
    spurious: int
    order: int
    dropped: dict[str, int]  # by reason, at the routers running at the end
    reconnects: int  # of clients, whose messages in flight are lost
    quiet: Missed = field(metadata=flat("quiet_"))
    after_failure: Missed = field(metadata=flat("failure_"))
    after_repair: Missed = field(metadata=flat("repair_"))
    problem: str | None = field(metadata=HIDDEN)


class _FailingNetwork(ProcessFaults):
    """A network of processes that waits after each event until it has converged."""

    def __init__(self, network: ProcessNetwork, links: Sequence[str]) -> None:
        super().__init__(network, links)
        self.events: list[record.RunEvent] = []
        self._changed = 0.0  # time of the last event, or 0 if the network has converged since

    def wait(self, until: float) -> None:
        """Wait until the network has converged, then sleep until a point in time."""
        if self._changed and until - self.now > _BURST:
            self.network.wait(_CONVERGED)
            self.events.append(record.SettleEvent(self.now, self._changed))
            self._changed = 0.0
            until = max(until, self.now + _REST)
        super().wait(until)

    def begin(self, fault: Fault) -> bool:
        """Break a part; the network converges without it."""
        self._changed = self.now
        if "cut" in fault.kind:
            self.network.links.remove(ends(fault.of))
        return super().begin(fault)

    def end(self, fault: Fault) -> None:
        """Repair a part."""
        self._changed = self.now
        if "cut" in fault.kind:
            self.network.links.append(ends(fault.of))
        super().end(fault)


def run(plan: NetworkBenchPlan, report: Report) -> Iterator[FailureOutcome]:
    """Fail links or routers of each network."""
    for name in plan.graphs or _DEFAULT:
        yield _run(plan, name, plan.fail or "", report)


def _run(plan: NetworkBenchPlan, name: str, kind: str, report: Report) -> FailureOutcome:
    """Fail links or routers under load, and repair them."""
    graph, seconds = topology(name, plan.seed), plan.seconds
    victims = choose_victims(graph, kind)
    schedule = failure_schedule(kind, victims, seconds - _END_S, plan.seed)
    report("computing the expected deliveries")
    traffic, rate = traffic_of(plan), plan.rate or _RATE
    expected = expected_deliveries(traffic)
    patience: dict[str, Any] = {"dead": PATIENT, "silence": 2 * PATIENT} if kind == "random" else {}
    settings = {**patience, **plan.routing.settings}
    with (
        RouterOutput() as output,
        _FailingNetwork(
            ProcessNetwork.of(graph, stderr=output.file, **settings), victims if "link" in kind else ()
        ) as failing,
    ):
        network = failing.network
        failing.start(_START)
        report(f"{name}: starting clients")
        places = [str(address) for router, address in network.addresses.items() if router not in victims]
        load = failing.enter_context(network_load(plan, places, traffic, expected))
        report(f"{name}: {rate:,.0f} messages per second, and failures")
        if kind != "random":
            seconds = max(fault.end for fault in schedule) + _END_S
        order = Order(0, int(rate * seconds), rate)
        driver = FaultDriver(failing, failing.events.append)

        def fail() -> None:
            driver.run(schedule, max(fault.end for fault in schedule) + _BURST)
            failing.wait(failing.now + 2 * _BURST)

        before = counters_of(network)
        received = load.run(order, fail, _QUIET)
        counters = counters_of(network)
        failing.events.append(output.event(failing.now))
    counters.subtract(before)
    events = [*_in_flight(failing.events, received)]
    found = _check(traffic, order, received, events, load.publishers)
    quiet = [count for _, count, is_promised in found.missed if is_promised]
    return FailureOutcome(
        topology=name,
        trees=str(plan.routing),
        fail=kind,
        victims=victims,
        failures=found.faults.total(),
        rate=rate,
        messages=order.count,
        expected=found.counts["expected"],
        missing=found.number("lost") + found.counts["missed"],
        twice=found.number("repeated"),
        spurious=found.number("spurious"),
        order=found.number("order"),
        dropped={reason: count for reason, count in drops(counters).items() if count > 0},
        reconnects=received.reconnects,
        quiet=Missed(len(quiet), sum(quiet)),
        after_failure=_missed(found, events, is_repair=False),
        after_repair=_missed(found, events, is_repair=True),
        problem=None if found.is_good else "guarantees violated: please report this",
    )


def _in_flight(events: Sequence[record.RunEvent], received: ReceivedDeliveries) -> Iterator[record.RunEvent]:
    """Yield the events; set `in_flight` of each fault to the longest delivery time since the previous event."""
    before = 0.0
    for event in events:
        if isinstance(event, record.FaultEvent):
            within = received.milliseconds[(received.at >= before * 1e9) & (received.at < event.at * 1e9)]
            yield msgspec.structs.replace(event, in_flight=float(within.max()) / 1e3 if len(within) else 0.0)
        else:
            yield event
        before = event.at


def _check(
    traffic: Traffic, order: Order, received: ReceivedDeliveries, events: Sequence[record.RunEvent], publishers: int
) -> Findings:
    """Check messages, deliveries and events, in order of time."""
    predicates = {f"s{n}": " or ".join(f"({text})" for text in own) for n, own in enumerate(traffic.subscribers)}
    names = [f"p{number}" for number in range(publishers)]
    messages: list[record.RunEvent] = [
        record.PublishEvent(
            at, names[number % publishers], number, dict(traffic.contents[number % len(traffic.contents)])
        )
        for number, at in zip(range(order.first, order.first + order.count), _sent(order, received), strict=True)
    ]
    deliveries: list[record.RunEvent] = [
        record.ReceiveEvent(at / 1e9, f"s{subscriber}", f"s{subscriber}", 0, 1, names[number % publishers], number)
        for subscriber, number, at in zip(
            received.subscribers.tolist(), received.numbers.tolist(), received.at.tolist(), strict=True
        )
    ]
    checker = settled_checker(predicates, _CONVERGED)
    checker.add(*sorted([*messages, *events, *deliveries], key=lambda event: event.at))
    return checker.end()


def _sent(order: Order, received: ReceivedDeliveries) -> list[float]:
    """Return the send time of each message in seconds, interpolated for messages without a delivery."""
    at = received.at - (received.milliseconds * 1e6).astype(np.int64)
    numbers, first = np.unique(received.numbers, return_index=True)
    sent = np.interp(np.arange(order.first, order.first + order.count), numbers, at[first]) / 1e9
    return list(sent.tolist())


def _missed(found: Findings, events: Sequence[record.RunEvent], *, is_repair: bool) -> Missed:
    """Return the messages missed after failures, or after repairs; each is attributed to the last event before it."""
    faults = [event for event in events if isinstance(event, record.FaultEvent)]
    starts = [event.at - (event.in_flight or 0.0) for event in faults]
    missed = []
    for at, count, is_promised in found.missed:
        last = faults[max(0, int(np.searchsorted(starts, at, "right")) - 1)]
        if last.is_end is is_repair and not is_promised:
            missed.append((count, max(0.0, at - last.at)))
    converged = [max(each) for kind, each in found.recoveries.items() if kind.startswith("end of") is is_repair]
    seconds = max((after for _, after in missed), default=0.0)
    return Missed(len(missed), sum(count for count, _ in missed), seconds, max(converged, default=0.0))


def tables(plan: NetworkBenchPlan, rows: Sequence[FailureOutcome]) -> Iterator[str | ResultTable[tuple[str, Missed]]]:
    """Yield the missed messages of each phase, and whether the guarantees held."""
    for row in rows:
        yield (
            f"{row.topology}, trees {row.trees}, seed {plan.seed}: {plan.subscribers:,} subscribers, "
            f"{row.messages:,} messages at {row.rate:,.0f} per second, {row.expected:,} deliveries, "
            f"{row.failures:,} failures\n"
        )
        _, failure, repair = KINDS[row.fail]
        failure = failure.format(", ".join(row.victims))
        phases = [(failure, row.after_failure), (repair, row.after_repair), ("quiet network", row.quiet)]
        yield ResultTable("Missed", phases, {
            "event": lambda phase: phase[0],
            "messages": lambda phase: phase[1].messages,
            "deliveries": lambda phase: phase[1].deliveries,
            "last sent after": lambda phase: f"{phase[1].seconds * 1000:,.0f} ms" if phase[1].seconds else None,
            "converged after": lambda phase: f"{phase[1].converged:.1f} s" if phase[1].converged else None,
        })  # fmt: skip
        for text, count in {
            "Duplicates": row.twice,
            "Spurious deliveries": row.spurious,
            "Deliveries out of order while the network is quiet": row.order,
            "Deliveries missed while the network is quiet": row.quiet.deliveries,
        }.items():
            yield f"guaranteed    {text}: {count:,}{' (BROKEN)' if count else ''}."
        yield "best effort   Messages in flight during a change may be missed, as in the table; nothing is resent."
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in sorted(row.dropped.items())) or "nothing"
        yield f"dropped       {dropped}."
        if row.reconnects:
            yield f"meanwhile     {row.reconnects:,} clients reconnected: messages in flight may be missed."
