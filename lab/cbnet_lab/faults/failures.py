"""The failure benchmark: messages lost when links or routers fail under load, and for how long.

    publish at a rate ──────────┬──────────┬────────────┬───────────┬──────────►
                              fails    converged    repaired    converged

The network has converged when every running router reports that it knows all others and all that they announce. A
message that is sent after an event and before that, or that may have been in flight at the event, is sent during a
change; all others in a settled network. With `random`, failures may follow each other before it has converged. No
client is connected to a router that fails.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from cbnet.network import ProcessNetwork
from cbnet.network.client.load_clients import Order
from cbnet.network.link.counters import drops
from cbnet.topology import topology
from cbnet_lab.bench.network.load import network_load
from cbnet_lab.bench.network.throughput import PATIENT, counters_of, traffic_of
from cbnet_lab.bench.network.traffic import Traffic, expected_deliveries
from cbnet_lab.faults.check.checker import check_record
from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.driver.driver import FaultDriver
from cbnet_lab.faults.driver.processes import ProcessFaults
from cbnet_lab.faults.driver.relay import Relay
from cbnet_lab.faults.driver.schedule import Fault
from cbnet_lab.faults.failing_parts import choose_victims, failure_schedule
from cbnet_lab.faults.record import (
    BeginEvent,
    EndEvent,
    Event,
    FaultEvent,
    PublishEvent,
    ReceiveEvent,
    SettleEvent,
    SubscribeEvent,
)

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.bench.network.load_processes import ReceivedDeliveries
    from cbnet_lab.bench.plans import NetworkBenchPlan

_RATE = 500.0  # messages per second, by default
_END_S = 5.0  # seconds of messages after the last event
_PUBLISHERS = 4
_START = 60.0  # seconds for the network to start
_CONVERGED = 300.0  # seconds for the network to converge: many routers may share a busy machine
_QUIET = 2.0  # seconds without a delivery before the wait ends
_REST = 0.5  # seconds from convergence to the next event
_BURST = 1.0  # seconds: an event that follows sooner does not wait for convergence


@dataclass(frozen=True)
class Missed:
    """Missed messages after events of one kind."""

    messages: int
    deliveries: int
    seconds: float = 0.0  # from an event until its last missed message was sent, at most
    converged: float = 0.0  # seconds from an event until the network had converged, at most


@dataclass(frozen=True)
class FailureOutcome:
    """Measurements of failures."""

    plan: NetworkBenchPlan
    kind: str
    victims: Sequence[str]
    order: Order
    found: Findings
    quiet: Missed
    after_failure: Missed
    after_repair: Missed
    dropped: dict[str, int]  # by reason, at the routers running at the end
    reconnects: int  # of clients, whose messages in flight are lost

    @property
    def problem(self) -> str | None:
        """The violated guarantees, if there are any."""
        return None if self.found.is_good else "guarantees violated: please report this"

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        missed = {
            f"{name}_{what}": round(getattr(each, what), 4)
            for name, each in {"failure": self.after_failure, "repair": self.after_repair}.items()
            for what in ("messages", "deliveries", "seconds", "converged")
        }
        return {
            "topology": self.plan.topology,
            "trees": str(self.plan.routing),
            "fail": self.kind,
            "victims": list(self.victims),
            "failures": self.found.faults.total(),
            "rate": self.order.rate,
            "messages": self.order.count,
            "expected": self.found.counts["expected"],
            "missing": self.found.number("lost") + self.found.counts["missed"],
            "twice": self.found.number("repeated"),
            "spurious": self.found.number("spurious"),
            "order": self.found.number("order"),
            "quiet_messages": self.quiet.messages,
            "quiet_deliveries": self.quiet.deliveries,
            **missed,
            "dropped": self.dropped,
            "reconnects": self.reconnects,
        }


class _FailingNetwork:
    """A network of processes that waits after each event until it has converged."""

    def __init__(self, network: ProcessNetwork, relays: dict[str, Relay]) -> None:
        self._network = network
        self._faults = ProcessFaults(network, relays)
        self.events: list[Event] = []
        self._changed = 0.0  # time of the last event since it had converged

    @property
    def now(self) -> float:
        """The time, in seconds."""
        return time.monotonic()

    def wait(self, until: float) -> None:
        """Sleep until some time; before, wait until the network has converged."""
        if self._changed and until - self.now > _BURST:
            self._network.wait(_CONVERGED)
            self.events.append(SettleEvent(self.now, self._changed))
            self._changed = 0.0
            until = max(until, self.now + _REST)
        time.sleep(max(0.0, until - self.now))

    def begin(self, fault: Fault) -> bool:
        """Break a part; the network converges without it."""
        self._changed = self.now
        if "cut" in fault.kind:
            self._network.links.remove(_ends(fault.of))
        return self._faults.begin(fault)

    def end(self, fault: Fault) -> None:
        """Mend a part."""
        self._changed = self.now
        if "cut" in fault.kind:
            self._network.links.append(_ends(fault.of))
        self._faults.end(fault)


def _ends(link: str) -> tuple[str, str]:
    near, far = link.split("-")  # the first dials the other
    return near, far


def bench_failure(plan: NetworkBenchPlan, kind: str, seconds: float, report: Report) -> FailureOutcome:
    """Let links or routers fail under load, and repair them; seconds: duration of random failures."""
    graph = topology(plan.topology, plan.seed)
    victims = choose_victims(graph, kind)
    schedule = failure_schedule(kind, victims, seconds - _END_S, plan.seed)
    report("computing the expected deliveries")
    traffic, rate = traffic_of(plan), plan.rate or _RATE
    expected = expected_deliveries(traffic)
    patience: dict[str, Any] = {"dead": PATIENT, "silence": 2 * PATIENT} if kind == "random" else {}
    with ExitStack() as stack:
        network = ProcessNetwork.of(graph, **patience, **plan.routing.settings)
        stack.callback(network.close)
        relays = {link: Relay(network.addresses[_ends(link)[1]]) for link in victims if "link" in kind}
        for link, relay in relays.items():
            stack.callback(relay.close)
            network.relays[_ends(link)] = relay.address
        network.start(*network.settings)
        network.wait(_START)
        report(f"{plan.topology}: starting clients")
        places = [str(address) for name, address in network.addresses.items() if name not in victims]
        publish_at = places[:: max(1, len(places) // _PUBLISHERS)]
        load = stack.enter_context(network_load(places, publish_at, traffic, expected, plan.payload, plan.processes))
        report(f"{plan.topology}: {rate:,.0f} messages per second, and failures")
        if kind != "random":
            seconds = max(fault.end for fault in schedule) + _END_S
        order = Order(0, int(rate * seconds), rate)
        failing = _FailingNetwork(network, relays)
        driver = FaultDriver(failing, failing.events.append)

        def fail() -> None:
            driver.run(schedule, max(fault.end for fault in schedule) + _BURST)
            failing.wait(failing.now + 2 * _BURST)

        before, began = counters_of(network), time.monotonic()
        total = sum(expected.deliveries[number % len(expected.counts)] for number in range(order.count))
        received = load.run(order, total, fail, _QUIET)
        counters = counters_of(network)
    counters.subtract(before)
    events = [*_in_flight(failing.events, received)]
    record = _record(traffic, order, received, events, len(publish_at), began)
    return _outcome(plan, kind, victims, order, check_record(record), events, counters, received.reconnects)


def _in_flight(events: Sequence[Event], received: ReceivedDeliveries) -> Iterator[Event]:
    """Yield the events, faults with the longest delivery time since the event before: messages may be in flight."""
    before = 0.0
    for event in events:
        if isinstance(event, FaultEvent):
            within = received.milliseconds[(received.at >= before * 1e9) & (received.at < event.at * 1e9)]
            yield msgspec.structs.replace(event, in_flight=float(within.max()) / 1e3 if len(within) else 0.0)
        else:
            yield event
        before = event.at


def _record(
    traffic: Traffic, order: Order, received: ReceivedDeliveries, events: Sequence[Event], publishers: int, began: float
) -> list[Event]:
    """Return the record of a run: messages, deliveries and events, by time."""
    end = float("inf")
    begin: list[Event] = [BeginEvent(0.0, 0, 0.0, _CONVERGED, delay=end)]
    begin += [
        SubscribeEvent(0.0, f"s{number}", f"s{number}", "", " or ".join(f"({text})" for text in own), kind="plain")
        for number, own in enumerate(traffic.subscribers)
    ]
    begin.append(SettleEvent(0.0, 0.0))
    names = [f"p{number % publishers}" for number in range(publishers)]
    messages: list[Event] = [
        PublishEvent(at, names[number % publishers], number, dict(traffic.contents[number % len(traffic.contents)]))
        for number, at in zip(range(order.first, order.first + order.count), _sent(order, received), strict=True)
    ]
    deliveries: list[Event] = [
        ReceiveEvent(at / 1e9, f"s{subscriber}", f"s{subscriber}", 0, 1, names[number % publishers], number)
        for subscriber, number, at in zip(
            received.subscribers.tolist(), received.numbers.tolist(), received.at.tolist(), strict=True
        )
    ]
    happened = sorted([*messages, *events, *deliveries], key=lambda event: event.at)
    return [*begin, *happened, EndEvent(max(began, happened[-1].at), {})]


def _sent(order: Order, received: ReceivedDeliveries) -> list[float]:
    """Return the send time of each message in seconds, interpolated where no delivery shows it."""
    at = received.at - (received.milliseconds * 1e6).astype(np.int64)
    numbers, first = np.unique(received.numbers, return_index=True)
    sent = np.interp(np.arange(order.first, order.first + order.count), numbers, at[first]) / 1e9
    return list(sent.tolist())


def _outcome(
    plan: NetworkBenchPlan,
    kind: str,
    victims: Sequence[str],
    order: Order,
    found: Findings,
    events: Sequence[Event],
    counters: Counter[str],
    reconnects: int,
) -> FailureOutcome:
    quiet = [count for _, count, is_promised in found.missed if is_promised]
    return FailureOutcome(
        plan=plan,
        kind=kind,
        victims=victims,
        order=order,
        found=found,
        quiet=Missed(len(quiet), sum(quiet)),
        after_failure=_missed(found, events, is_repair=False),
        after_repair=_missed(found, events, is_repair=True),
        dropped={reason: count for reason, count in drops(counters).items() if count > 0},
        reconnects=reconnects,
    )


def _missed(found: Findings, events: Sequence[Event], *, is_repair: bool) -> Missed:
    """Return the messages missed after failures, or after repairs; a message belongs to the last event before it."""
    faults = [event for event in events if isinstance(event, FaultEvent)]
    settled = [event for event in events if isinstance(event, SettleEvent)]
    starts = [event.at - (event.in_flight or 0.0) for event in faults]
    missed = []
    for at, count, is_promised in found.missed:
        last = faults[max(0, int(np.searchsorted(starts, at, "right")) - 1)]
        if last.is_end is is_repair and not is_promised:
            missed.append((count, max(0.0, at - last.at)))
    converged = [each.at - each.since for each in settled if _last_before(faults, each.at).is_end is is_repair]
    seconds = max((after for _, after in missed), default=0.0)
    return Missed(len(missed), sum(count for count, _ in missed), seconds, max(converged, default=0.0))


def _last_before(faults: Sequence[FaultEvent], at: float) -> FaultEvent:
    return [fault for fault in faults if fault.at <= at][-1]
