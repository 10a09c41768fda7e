"""The failure benchmark: messages lost when a link or a router fails under load, and for how long.

    publish at a rate ──────────┬───────────────────────┬──────────►
                              fails                  repaired

A message is missed if any subscriber that must get it does not. The network has converged again when the last missed
message was sent. Messages in flight at the moment of the failure count as missed after it. No client is connected to
the failing router.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.errors import InputError
from cbnet.lab.bench.network.delivery_check import DeliveryCheck, check_deliveries, expected_count, missing_by_message
from cbnet.lab.bench.network.load import network_load
from cbnet.lab.bench.network.relay import Relay
from cbnet.lab.bench.network.throughput import counters_of
from cbnet.lab.bench.network.traffic import expected_deliveries
from cbnet.network import ProcessNetwork
from cbnet.network.client.load_clients import Order
from cbnet.network.link.counters import drops
from cbnet.topology import Graph, bridges, topology

if TYPE_CHECKING:
    from cbnet.lab.bench.bench_input import Report
    from cbnet.lab.bench.network.delivery_check import Counts
    from cbnet.lab.bench.network.load_processes import ReceivedDeliveries
    from cbnet.lab.bench.network.throughput import ThroughputPlan
    from cbnet.lab.bench.network.traffic import ExpectedDeliveries

KINDS = ("link", "silent-link", "router")
_RATE = 500.0  # messages per second, by default
_SECONDS = 16.0  # of messages
_FAILURE, _REPAIR = 4.0, 11.0  # seconds after the first message
_PUBLISHERS = 4
_FOREVER = 2**63 - 1  # ns
_START = 60.0
_QUIET = 2.0  # seconds without a delivery before the wait ends


@dataclass(frozen=True)
class Missed:
    """Missed messages after an event."""

    messages: int
    deliveries: int
    seconds: float  # from the event until the last missed message was sent; 0 if none


@dataclass(frozen=True)
class FailureOutcome:
    """Measurements of one failure."""

    plan: ThroughputPlan
    kind: str
    victim: str
    rate: float
    messages: int
    verdict: DeliveryCheck
    before: Missed
    after_failure: Missed
    after_repair: Missed
    dropped: dict[str, int]  # by reason, at the routers running at the end

    @property
    def is_as_guaranteed(self) -> bool:
        """Whether there were no duplicates, no spurious deliveries, and no misses before the failure."""
        return not (self.verdict.twice or self.verdict.spurious or self.before.messages)

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        parts = {"before": self.before, "failure": self.after_failure, "repair": self.after_repair}
        missed = {
            f"{name}_{what}": round(getattr(each, what), 4)
            for name, each in parts.items()
            for what in ("messages", "deliveries", "seconds")
        }
        return {
            "topology": self.plan.topology,
            "scheme": self.plan.scheme,
            "fail": self.kind,
            "victim": self.victim,
            "rate": self.rate,
            "messages": self.messages,
            "expected": self.verdict.expected,
            "missing": self.verdict.missing,
            "twice": self.verdict.twice,
            "spurious": self.verdict.spurious,
            **missed,
            "dropped": self.dropped,
        }


def bench_failure(plan: ThroughputPlan, kind: str, report: Report) -> FailureOutcome:
    """Let a link or router fail under load, and repair it."""
    if kind not in KINDS:
        raise InputError(f"unknown failure {kind!r}", hint=f"use one of {', '.join(KINDS)}")
    graph = topology(plan.topology, plan.seed)
    victim = _router(graph) if kind == "router" else _link(graph)
    report("computing the expected deliveries")
    traffic = plan.traffic()
    expected = expected_deliveries(traffic)
    rate = plan.rate or _RATE
    order = Order(0, int(rate * _SECONDS), rate)
    with _network(plan, graph, kind, victim) as (network, fail, repair):
        report(f"{plan.topology}: starting clients")
        places = [str(address) for name, address in network.addresses.items() if name not in victim[: kind == "router"]]
        publish_at = places[:: max(1, len(places) // _PUBLISHERS)]
        with network_load(places, publish_at, traffic, expected, plan.payload, plan.processes) as load:
            report(f"{plan.topology}: {rate:,.0f} messages per second, then a failure")
            events: list[int] = []
            before = counters_of(network)

            def meanwhile() -> None:
                for seconds, what in ((_FAILURE, fail), (_REPAIR - _FAILURE, repair)):
                    time.sleep(seconds)
                    events.append(time.monotonic_ns())
                    what()

            received = load.run(order, expected_count(order, expected), meanwhile, _QUIET)
            counters = counters_of(network)
            counters.subtract(before)
    return _outcome(plan, kind, "–".join(victim), order, expected, received, events, counters)


def _outcome(
    plan: ThroughputPlan,
    kind: str,
    victim: str,
    order: Order,
    expected: ExpectedDeliveries,
    received: ReceivedDeliveries,
    events: list[int],
    counters: Counter[str],
) -> FailureOutcome:
    assert order.rate is not None
    missing = missing_by_message(order, expected, received)
    sent = _sent(order, received)
    failed, repaired = events
    in_flight = failed - _max_latency(received, failed)
    dropped = {reason: count for reason, count in drops(counters).items() if count > 0}
    return FailureOutcome(
        plan, kind, victim, order.rate, order.count, check_deliveries(order, expected, received),
        _missed(missing, sent, 0, in_flight, failed), _missed(missing, sent, in_flight, repaired, failed),
        _missed(missing, sent, repaired, _FOREVER, repaired), dropped,
    )  # fmt: skip


def _sent(order: Order, received: ReceivedDeliveries) -> Counts:
    """Return the send time of each message in ns, interpolated where no delivery shows it."""
    known = np.unique(
        np.stack([received.numbers, received.at - (received.milliseconds * 1e6).astype(np.int64)]), axis=1
    )
    numbers, first = np.unique(known[0], return_index=True)
    all_numbers = np.arange(order.first, order.first + order.count)
    sent: Counts = np.interp(all_numbers, numbers, known[1][first]).astype(np.int64)
    return sent


def _max_latency(received: ReceivedDeliveries, failed: int) -> int:
    """Return the longest delivery time in ns before the failure: messages sent within it may have been in flight."""
    before = received.milliseconds[received.at < failed]
    return int(before.max() * 1e6) if len(before) else 0


def _missed(missing: Counts, sent: Counts, start: int, end: int, since: int) -> Missed:
    """Return the missed messages among those sent from `start` to `end`."""
    rows = np.flatnonzero((missing > 0) & (sent >= start) & (sent < end))
    last = max(0.0, float(sent[rows[-1]] - since) / 1e9) if len(rows) else 0.0
    return Missed(len(rows), int(missing[rows].sum()), last)


# --- The failing link or router


@contextmanager
def _network(
    plan: ThroughputPlan, graph: Graph, kind: str, victim: tuple[str, ...]
) -> Iterator[tuple[ProcessNetwork, Callable[[], object], Callable[[], object]]]:
    """Start the routers; yield them, and the functions that fail and repair the victim."""
    network = ProcessNetwork.of(graph, scheme=plan.scheme)
    with ExitStack() as stack:
        stack.callback(network.close)
        if kind == "router":
            (name,) = victim
            network.start(*network.settings)
            network.wait(_START)
            yield network, lambda: network.kill(name), lambda: network.start(name)
            return
        near, far = victim  # the first dials the other
        relay = Relay(network.addresses[far])
        stack.callback(relay.close)
        network.start(*(name for name in network.settings if name != near))
        own, network.addresses[far] = network.addresses[far], relay.address
        network.start(near)
        network.addresses[far] = own
        network.wait(_START)
        yield network, relay.cut if kind == "link" else relay.silence, relay.repair


def _link(graph: Graph) -> tuple[str, str]:
    """Return the link between the best-connected nodes whose removal leaves the network connected."""
    alone = {frozenset(pair) for pair in bridges(graph)}
    degrees = graph.degrees
    links = [(degrees[u] + degrees[v], u, v) for u, v, _ in graph.edges() if frozenset((u, v)) not in alone]
    if not links:
        raise InputError("every link of this network is a bridge", hint="use a ring, or powerlaw:20")
    _, u, v = max(links)
    a, b = sorted((str(graph.name(u)), str(graph.name(v))))
    return a, b


def _router(graph: Graph) -> tuple[str]:
    """Return the best-connected node whose removal leaves the others connected."""
    for node in np.argsort(-graph.degrees, kind="stable").tolist():
        if _is_connected_without(graph, node):
            return (str(graph.name(node)),)
    raise InputError("no router of this network can fail without partitioning it", hint="use a ring, or powerlaw:20")


def _is_connected_without(graph: Graph, removed: int) -> bool:
    left = [node for node in range(len(graph.names)) if node != removed]
    reached = set(left[:1])
    for node in (waiting := left[:1]):  # grows during the loop
        for other in graph.neighbours(node).tolist():
            if other != removed and other not in reached:
                reached.add(other)
                waiting.append(other)
    return len(left) > 1 and len(reached) == len(left)
