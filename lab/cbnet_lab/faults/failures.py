"""The failure benchmark: messages lost when links or routers fail under load, and for how long.

    publish at a rate ──────────┬──────────┬────────────┬───────────┬──────────►
                              fails    converged    repaired    converged

A message is missed if any subscriber that must get it does not. The network has converged when every running router
reports that it knows all others and all that they announce. A message that is sent after an event and before that, or
that may have been in flight at the event, is sent during a change; all others in a quiet network. An event of `random`
is a burst of kills and restarts, each before the network has converged after the one before. No client is connected to
a router that fails.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cbnet.errors import InputError
from cbnet.network import ProcessNetwork
from cbnet.network.client.load_clients import Order
from cbnet.network.link.counters import drops
from cbnet.topology import topology
from cbnet_lab.bench.network.delivery_check import DeliveryCheck, check_deliveries, expected_count, missing_by_message
from cbnet_lab.bench.network.load import network_load
from cbnet_lab.bench.network.throughput import counters_of
from cbnet_lab.bench.network.traffic import expected_deliveries
from cbnet_lab.faults.failing_parts import KINDS, FailureAct, choose_victims, failing_network

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.bench.network.delivery_check import Counts
    from cbnet_lab.bench.network.load_processes import ReceivedDeliveries
    from cbnet_lab.bench.network.throughput import ThroughputPlan
    from cbnet_lab.bench.network.traffic import ExpectedDeliveries

_RATE = 500.0  # messages per second, by default
_END_S = 5.0  # seconds of messages after the last event, without its pause
_PUBLISHERS = 4
_CONVERGED = 300.0  # seconds for the network to converge: many routers may share a busy machine
_QUIET = 2.0  # seconds without a delivery before the wait ends
_MIN_REST = 0.5  # seconds from convergence to the next event

Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class FailureEvent:
    """A failure or a repair."""

    act: FailureAct
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
    failures: int  # of links or routers
    rate: float
    messages: int
    verdict: DeliveryCheck
    quiet: Missed
    after_failure: Missed
    after_repair: Missed
    dropped: dict[str, int]  # by reason, at the routers running at the end
    reconnects: int  # of clients, whose messages in flight are lost

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
            "failures": self.failures,
            "rate": self.rate,
            "messages": self.messages,
            "expected": self.verdict.expected,
            "missing": self.verdict.missing,
            "twice": self.verdict.twice,
            "spurious": self.verdict.spurious,
            **missed,
            "dropped": self.dropped,
            "reconnects": self.reconnects,
        }


def bench_failure(plan: ThroughputPlan, kind: str, seconds: float, report: Report) -> FailureOutcome:
    """Let links or routers fail under load, and repair them; seconds: duration of random failures."""
    if kind not in KINDS:
        raise InputError(f"unknown failure {kind!r}", hint=f"use one of {', '.join(KINDS)}")
    graph = topology(plan.topology, plan.seed)
    victims = choose_victims(graph, kind)
    report("computing the expected deliveries")
    traffic = plan.traffic()
    expected = expected_deliveries(traffic)
    rate = plan.rate or _RATE
    with failing_network(graph, plan, kind, victims, seconds - _END_S) as (network, acts):
        if kind != "random":
            seconds = sum(act.pause for act in acts) + _END_S
        order = Order(0, int(rate * seconds), rate)
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


def _happen(network: ProcessNetwork, acts: Iterable[FailureAct]) -> Iterator[FailureEvent]:
    """Let failures and repairs happen, in turn; yield each when the network has converged."""
    last = time.monotonic()
    rested = 0.0
    for act in acts:
        time.sleep(max(0.0, last + act.pause - time.monotonic(), rested - time.monotonic()))
        at, last = time.monotonic_ns(), time.monotonic()
        act.run()
        network.wait(_CONVERGED)
        yield FailureEvent(act, at, time.monotonic_ns())
        rested = time.monotonic() + _MIN_REST


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
    changes = _changes(sent, events, received)
    is_quiet = ~np.logical_or.reduce(changes)
    quiet = Missed(int(np.count_nonzero((missing > 0) & is_quiet)), int(missing[is_quiet].sum()), 0.0, 0.0)
    after_failure, after_repair = (
        _missed(
            missing, sent, [pair for pair in zip(events, changes, strict=True) if (pair[0].act.failures > 0) is which]
        )
        for which in (True, False)
    )
    dropped = {reason: count for reason, count in drops(counters).items() if count > 0}
    return FailureOutcome(
        plan=plan,
        kind=kind,
        victims=victims,
        failures=sum(event.act.failures for event in events),
        rate=order.rate,
        messages=order.count,
        verdict=check_deliveries(order, expected, received),
        quiet=quiet,
        after_failure=after_failure,
        after_repair=after_repair,
        dropped=dropped,
        reconnects=received.reconnects,
    )


def _changes(sent: Counts, events: Sequence[FailureEvent], received: ReceivedDeliveries) -> list[Mask]:
    """Return which messages were sent during the change of each event, or may have been in flight at the event."""
    masks = []
    before = 0  # end of the change before
    for event in events:
        start = max(event.at - _max_latency(received, before, event.at), before)
        masks.append((sent >= start) & (sent < event.converged))
        before = event.converged
    return masks


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


def _max_latency(received: ReceivedDeliveries, start: int, end: int) -> int:
    """Return the longest delivery time in ns within some time: messages sent so long before its end were in flight."""
    within = received.milliseconds[(received.at >= start) & (received.at < end)]
    return int(within.max() * 1e6) if len(within) else 0
