"""The door trial: one router process, many HTTP subscribers under load, and one of them that never reads.

                                        ┌─► event streams ─┐
    publisher, a WebSocket ─► router a ─┼─► WebSockets ────┴─► DoorRecord, checked
                                        └─► a WebSocket that never reads, until the router closes it

At most `_WINDOW` deliveries are in flight, so that no subscriber that reads is too slow.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from selectors import EVENT_READ, DefaultSelector
from typing import TYPE_CHECKING, Final, TypeVar

from cbnet.network import ProcessNetwork, Settings, connect
from cbnet.network.client.blocking.client import Client
from cbnet.network.client.load_clients import Order, Pace
from cbnet_lab.bench.cpu import cpu_nanoseconds
from cbnet_lab.bench.network.traffic import ExpectedDeliveries, Traffic, expected_deliveries
from cbnet_lab.bench.result_table import ResultTable
from cbnet_lab.faults.door.door_record import DoorRecord, DoorResult, delivery_problems
from cbnet_lab.faults.door.door_subscribers import EventStream, WebSocketClient, stalled_client
from cbnet_lab.faults.door.door_traffic import door_traffic
from cbnet_lab.faults.door.router_watch import RouterWatch

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.faults.plans import DoorPlan

CLOSED_WITHIN: Final = 60.0  # seconds; the router needs 30 if bytes wait for the client, 40 by pings if they do not
_WINDOW: Final = 5_000  # deliveries in flight
_QUIET: Final = 20.0  # seconds without a delivery, after which the others count as missing
_SETTLE: Final = 0.5  # seconds after the last expected delivery, to catch surplus ones
_STATUS: Final = 1.0  # seconds between two requests for the number of clients
_POLL: Final = 0.02  # seconds
_ROUTER: Final = "a"

_Connected = TypeVar("_Connected", EventStream, WebSocketClient, EventStream | WebSocketClient)


def run(plan: DoorPlan, report: Report) -> Iterator[DoorResult]:
    """Run a trial."""
    report("computing the expected deliveries")
    traffic = door_traffic(plan.readers, plan.messages, plan.seed)
    expected = expected_deliveries(traffic)
    report("starting a router")
    with (
        ProcessNetwork([Settings(_ROUTER)], [], http=True) as network,
        RouterWatch(network.pids[_ROUTER], network.http_addresses[_ROUTER]) as watch,
        connect(str(network.addresses[_ROUTER])) as observer,
        _Trial(plan, expected, network, observer) as trial,
    ):
        report("subscribing")
        trial.subscribe(traffic)
        yield trial.run(watch, report)


def tables(plan: DoorPlan, rows: Sequence[DoorResult]) -> Iterator[ResultTable[DoorResult]]:
    """Yield the measurements."""
    yield ResultTable(f"{plan.streams:,} event streams and {plan.sockets:,} WebSockets of one router", rows, {
        "messages": "messages",
        "deliveries": "right",
        "deliveries expected": "expected",
        "seconds": "seconds",
        "processor time of the router per delivery, µs": "cpu_us_per_delivery",
        "processor time of the router per message, µs": "cpu_us_per_message",
        "memory of the router before, MB": "memory_before_mb",
        "memory with all subscribers, MB": "memory_connected_mb",
        "memory at the peak, MB": "memory_peak_mb",
        "health checks": "health_checks",
        "slowest health check, ms": "slowest_health_ms",
        "client that never reads closed after, s": "closed_after_s",
    }, is_list=True)  # fmt: skip


class _Trial(ExitStack):
    """A running trial; it closes its connections at the end."""

    def __init__(
        self, plan: DoorPlan, expected: ExpectedDeliveries, network: ProcessNetwork, observer: Client
    ) -> None:  # fmt: skip
        super().__init__()
        self._plan, self._expected, self._observer = plan, expected, observer
        self._pid, self._http = network.pids[_ROUTER], network.http_addresses[_ROUTER]
        self._order = Order(0, plan.messages, window=_WINDOW)
        self._selector = self.enter_context(DefaultSelector())
        self._publisher = self._opened(WebSocketClient(self._http))
        self._log: DoorRecord
        self._closed_at: float | None = None  # when the client that never reads was closed
        self._status_due = 0.0

    def subscribe(self, traffic: Traffic) -> None:
        """Connect all subscribers that read."""
        self._log = DoorRecord(traffic)
        for number, predicate in traffic.predicates:
            client = self._opened((EventStream if number < self._plan.streams else WebSocketClient)(self._http))
            client.subscribe(predicate)
            self._selector.register(client.link, EVENT_READ, (number, client))

    def run(self, watch: RouterWatch, report: Report) -> DoorResult:
        """Publish; wait until all is delivered and the client that never reads is closed."""
        self._others = self._observer.status().clients
        self._opened(stalled_client(self._http))
        memory, cpu, began = watch.memory, cpu_nanoseconds(self._pid), time.monotonic()
        self._publish(report)
        self._receive_all()
        used, ended = cpu_nanoseconds(self._pid) - cpu, time.monotonic()
        report("waiting until the client that never reads is closed")
        self._receive(_SETTLE)
        while self._closed_at is None and time.monotonic() < began + CLOSED_WITHIN:
            self._receive(_POLL)
        self._log.compare(
            "stalled client",
            f"the client that never reads, after {CLOSED_WITHIN:g} s",
            "connected" if self._closed_at is None else "closed",
            "closed",
        )
        self._log.compare("health", f"health checks of {watch.checks:,} that failed", watch.failures, 0)
        found = self._log.findings()
        expected = found.counts["expected"]
        return DoorResult(
            streams=self._plan.streams,
            sockets=self._plan.sockets,
            messages=self._plan.messages,
            expected=expected,
            right=expected - found.number("lost"),
            seconds=ended - began,
            cpu_us_per_delivery=used / 1000 / max(1, expected),
            cpu_us_per_message=used / 1000 / self._plan.messages,
            memory_before_mb=watch.before / 1e6,
            memory_connected_mb=memory / 1e6,
            memory_peak_mb=watch.peak / 1e6,
            health_checks=watch.checks,
            slowest_health_ms=watch.slowest * 1000,
            closed_after_s=None if self._closed_at is None else self._closed_at - began,
            problems=[*delivery_problems(found)],
        )

    def _publish(self, report: Report) -> None:
        """Publish all messages, each after the answer to the one before."""
        pace = Pace(self._order, self._expected.deliveries, self._log.count)
        for number in range(self._plan.messages):
            while (seconds := pace.wait(number)) > 0:
                self._receive(seconds)
            self._publisher.send({"op": "publish", "number": number, **self._log.publish(number)})
            self._publisher.answer("published")
            self._receive(0)
            if number % 50 == 0:
                report(f"{number:,} of {self._plan.messages:,} messages published")

    def _receive_all(self) -> None:
        """Receive until as many deliveries have arrived as expected, or none arrives any more."""
        count, deliveries = self._log.count, self._expected.deliveries
        expected = sum(deliveries[number % len(deliveries)] for number in range(self._plan.messages))
        seen, since = -1, time.monotonic()
        while count.total() < expected and time.monotonic() - since < _QUIET:
            if count.total() != seen:
                seen, since = count.total(), time.monotonic()
            self._receive(_POLL)

    def _receive(self, seconds: float) -> None:
        """Record what has arrived; wait for it up to `seconds`."""
        for key, _ in self._selector.select(seconds):
            number, client = key.data
            try:
                for members in client.received():
                    self._log.receive(number, members)
            except (EOFError, OSError):
                self._selector.unregister(key.fileobj)
                self._log.end(number)
        if self._closed_at is None and time.monotonic() >= self._status_due:
            if self._status_due and self._observer.status().clients <= self._others - self._log.ended:
                self._closed_at = time.monotonic()
            self._status_due = time.monotonic() + _STATUS

    def _opened(self, client: _Connected) -> _Connected:
        self.enter_context(closing(client.link))
        return client
