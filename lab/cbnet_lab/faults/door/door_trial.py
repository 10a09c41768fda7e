"""The door trial: one router process, many HTTP subscribers under load, and one of them that never reads.

                                        ┌─► event streams ─┐
    publisher, a WebSocket ─► router a ─┼─► WebSockets ────┴─► DoorRecord, checked
                                        └─► a WebSocket that never reads, until the router closes it

At most `_WINDOW` deliveries are in flight, so that no subscriber that reads is too slow.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from selectors import EVENT_READ, DefaultSelector
from typing import Final, TypeVar

from cbnet.network import ProcessNetwork, Settings, connect
from cbnet.network.client.blocking.client import Client
from cbnet.network.client.load_clients import Order, Pace
from cbnet_lab.bench.bench_input import Report
from cbnet_lab.bench.cpu import cpu_nanoseconds
from cbnet_lab.bench.network.traffic import ExpectedDeliveries, Traffic, expected_deliveries
from cbnet_lab.faults.door.door_record import DoorRecord
from cbnet_lab.faults.door.door_result import CLOSED_WITHIN, DoorPlan, DoorResult
from cbnet_lab.faults.door.door_subscribers import EventStream, WebSocketClient, stalled_client
from cbnet_lab.faults.door.door_traffic import door_traffic
from cbnet_lab.faults.door.router_watch import RouterWatch

_WINDOW: Final = 5_000  # deliveries in flight
_QUIET: Final = 20.0  # seconds without a delivery, after which the others count as missing
_SETTLE: Final = 0.5  # seconds after the last expected delivery, to catch surplus ones
_STATUS: Final = 1.0  # seconds between two requests for the number of clients
_POLL: Final = 0.02  # seconds
_ROUTER: Final = "a"

_Connected = TypeVar("_Connected", EventStream, WebSocketClient, EventStream | WebSocketClient)


def run_door_trial(plan: DoorPlan, report: Report) -> DoorResult:
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
        return trial.run(watch, report)


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
        closed_after = None if self._closed_at is None else self._closed_at - began
        return DoorResult(self._plan, self._log.findings(), watch, memory, used / 1000, ended - began, closed_after)

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
