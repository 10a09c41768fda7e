"""The failure benchmark: messages lost when links or routers fail under load, and for how long.

    publish at a rate ──────────┬──────────┬────────────┬───────────┬──────────►
                              fails    converged    repaired    converged

A message is missed if any subscriber that must get it does not. The network has converged when every running router
reports that it knows all others and all that they announce. A message that is sent after an event and before that, or
that may have been in flight at the event, is sent during a change; all others in a quiet network. No client is
connected to a router that fails.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

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

KINDS = ("link", "silent-link", "router", "routers")
_RATE = 500.0  # messages per second, by default
_START_S = 4.0  # seconds from the first message to the first failure
_PAUSE_S = 7.0  # seconds from an event to the next
_END_S = 5.0  # seconds of messages after the last event, without its pause
_ROUTERS = 5  # that fail in turn
_PUBLISHERS = 4
_START = 60.0  # seconds for the network to start, or to converge
_QUIET = 2.0  # seconds without a delivery before the wait ends
_MIN_REST = 0.5  # seconds from convergence to the next event

Act = Callable[[], object]
Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class FailureEvent:
    """A failure or a repair."""

    is_failure: bool
    at: int  # ns
    converged: int  # ns


@dataclass(frozen=True)
class Missed:
    """Missed messages after events of one kind."""

    messages: int
    deliveries: int
    seconds: float  # from an event until its last missed message was sent, at most; 0 if none
    converged: float  # seconds from an event until the network had converged, at most


@dataclass(frozen=True)
class FailureOutcome:
    """Measurements of failures."""

    plan: ThroughputPlan
    kind: str
    victims: Sequence[str]
    rate: float
    messages: int
    verdict: DeliveryCheck
    quiet: Missed
    after_failure: Missed
    after_repair: Missed
    dropped: dict[str, int]  # by reason, at the routers running at the end

    @property
    def is_as_guaranteed(self) -> bool:
        """Whether there were no duplicates, no spurious deliveries, and no misses in a quiet network."""
        return not (self.verdict.twice or self.verdict.spurious or self.quiet.messages)

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        parts = {"quiet": self.quiet, "failure": self.after_failure, "repair": self.after_repair}
        missed = {
            f"{name}_{what}": round(getattr(each, what), 4)
            for name, each in parts.items()
            for what in ("messages", "deliveries", "seconds", "converged")
            if name != "quiet" or what in ("messages", "deliveries")
        }
        return {
            "topology": self.plan.topology,
            "trees": str(self.plan.routing),
            "fail": self.kind,
            "victims": list(self.victims),
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
    """Let links or routers fail under load, and repair them."""
    if kind not in KINDS:
        raise InputError(f"unknown failure {kind!r}", hint=f"use one of {', '.join(KINDS)}")
    graph = topology(plan.topology, plan.seed)
    victims = ["–".join(_link(graph))] if "link" in kind else _routers(graph, _ROUTERS if kind == "routers" else 1)
    report("computing the expected deliveries")
    traffic = plan.traffic()
    expected = expected_deliveries(traffic)
    rate = plan.rate or _RATE
    seconds = _START_S + _PAUSE_S * (2 * len(victims) - 1) + _END_S
    order = Order(0, int(rate * seconds), rate)
    with _network(plan, graph, kind, victims) as (network, acts):
        report(f"{plan.topology}: starting clients")
        places = [str(address) for name, address in network.addresses.items() if name not in victims]
        publish_at = places[:: max(1, len(places) // _PUBLISHERS)]
        with network_load(places, publish_at, traffic, expected, plan.payload, plan.processes) as load:
            report(f"{plan.topology}: {rate:,.0f} messages per second, and failures")
            events: list[FailureEvent] = []
            before = counters_of(network)
            received = load.run(
                order, expected_count(order, expected), lambda: events.extend(_happen(network, acts)), _QUIET
            )
            counters = counters_of(network)
            counters.subtract(before)
    return _outcome(plan, kind, victims, order, expected, received, events, counters)


def _happen(network: ProcessNetwork, acts: Sequence[Act]) -> Iterator[FailureEvent]:
    """Let failures and repairs happen, in turn; yield each when the network has converged."""
    next_at = time.monotonic() + _START_S
    for index, act in enumerate(acts):
        time.sleep(max(0.0, next_at - time.monotonic()))
        at, next_at = time.monotonic_ns(), time.monotonic() + _PAUSE_S
        act()
        network.wait(_START)
        yield FailureEvent(index % 2 == 0, at, time.monotonic_ns())
        next_at = max(next_at, time.monotonic() + _MIN_REST)


def _outcome(
    plan: ThroughputPlan,
    kind: str,
    victims: Sequence[str],
    order: Order,
    expected: ExpectedDeliveries,
    received: ReceivedDeliveries,
    events: Sequence[FailureEvent],
    counters: Counter[str],
) -> FailureOutcome:
    assert order.rate is not None
    missing = missing_by_message(order, expected, received)
    sent = _sent(order, received)
    changes = _changes(sent, events, _max_latency(received, events[0].at))
    is_quiet = ~np.logical_or.reduce(changes)
    quiet = Missed(int(np.count_nonzero((missing > 0) & is_quiet)), int(missing[is_quiet].sum()), 0.0, 0.0)
    after_failure, after_repair = (
        _missed(missing, sent, [pair for pair in zip(events, changes, strict=True) if pair[0].is_failure is which])
        for which in (True, False)
    )
    dropped = {reason: count for reason, count in drops(counters).items() if count > 0}
    return FailureOutcome(
        plan, kind, victims, order.rate, order.count, check_deliveries(order, expected, received), quiet, after_failure,
        after_repair, dropped,
    )  # fmt: skip


def _changes(sent: Counts, events: Sequence[FailureEvent], in_flight: int) -> list[Mask]:
    """Return which messages were sent during the change of each event; in_flight: ns before it that count, too."""
    starts = [max(event.at - in_flight, before) for event, before in zip(events, _ends(events), strict=True)]
    return [(sent >= start) & (sent < event.converged) for start, event in zip(starts, events, strict=True)]


def _ends(events: Sequence[FailureEvent]) -> list[int]:
    """Return when the change before each event ended."""
    return [0, *(event.converged for event in events[:-1])]


def _missed(missing: Counts, sent: Counts, changes: Sequence[tuple[FailureEvent, Mask]]) -> Missed:
    """Return the messages missed during some changes."""
    messages = deliveries = 0
    last = converged = 0.0
    for event, mask in changes:
        rows = np.flatnonzero((missing > 0) & mask)
        messages += len(rows)
        deliveries += int(missing[rows].sum())
        last = max(last, *(float(sent[row] - event.at) / 1e9 for row in rows[-1:]), 0.0)
        converged = max(converged, (event.converged - event.at) / 1e9)
    return Missed(messages, deliveries, last, converged)


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


# --- The failing link or routers


@contextmanager
def _network(
    plan: ThroughputPlan, graph: Graph, kind: str, victims: Sequence[str]
) -> Iterator[tuple[ProcessNetwork, Sequence[Act]]]:
    """Start the routers; yield them, and the functions that fail and repair the victims, in turn."""
    network = ProcessNetwork.of(graph, **plan.routing.settings)
    with ExitStack() as stack:
        stack.callback(network.close)
        if kind in ("router", "routers"):
            network.start(*network.settings)
            network.wait(_START)
            yield network, [act for name in victims for act in _router_acts(network, name)]
            return
        near, far = _link(graph)  # the first dials the other
        relay = Relay(network.addresses[far])
        stack.callback(relay.close)
        network.start(*(name for name in network.settings if name != near))
        own, network.addresses[far] = network.addresses[far], relay.address
        network.start(near)
        network.addresses[far] = own
        network.wait(_START)
        yield network, _link_acts(network, relay, (near, far), is_silent=kind == "silent-link")


def _router_acts(network: ProcessNetwork, name: str) -> list[Act]:
    return [lambda: network.kill(name), lambda: network.start(name)]


def _link_acts(network: ProcessNetwork, relay: Relay, link: tuple[str, str], *, is_silent: bool) -> list[Act]:
    """Return the functions that fail and repair a link; meanwhile the network converges without it."""

    def fail() -> None:
        network.links.remove(link)
        (relay.silence if is_silent else relay.cut)()

    def repair() -> None:
        network.links.append(link)
        relay.repair()

    return [fail, repair]


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


def _routers(graph: Graph, count: int) -> list[str]:
    """Return the best-connected nodes whose removal, one at a time, leaves the others connected."""
    order = np.argsort(-graph.degrees, kind="stable").tolist()
    chosen = [str(graph.name(node)) for node in order if _is_connected_without(graph, node)][:count]
    if not chosen or len(chosen) == len(graph):
        hint = "use a ring, or powerlaw:20"
        raise InputError("no router of this network can fail without partitioning it", hint=hint)
    return chosen


def _is_connected_without(graph: Graph, removed: int) -> bool:
    left = [node for node in range(len(graph.names)) if node != removed]
    reached = set(left[:1])
    for node in (waiting := left[:1]):  # grows during the loop
        for other in graph.neighbours(node).tolist():
            if other != removed and other not in reached:
                reached.add(other)
                waiting.append(other)
    return len(left) > 1 and len(reached) == len(left)
