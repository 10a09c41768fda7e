"""The HTTP trial: one router process, and many HTTP subscribers under load, one of which never reads.

                                        ┌─► event streams ─┐
    publisher, a WebSocket ─► router a ─┼─► WebSockets ────┴─► HttpRecord, checked
                                        └─► a WebSocket that never reads, until the router closes it

At most `_WINDOW` deliveries are in flight, so that no subscriber that reads is too slow.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any, Final

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as connect_socket

from cbnet.errors import CbnetError
from cbnet.network import ProcessNetwork, Settings, connect
from cbnet.network.client.blocking_client import Client
from cbnet.network.client.load_clients import Order, Pace
from cbnet_lab.bench.cpu import cpu_nanoseconds
from cbnet_lab.bench.network.traffic import expected_deliveries
from cbnet_lab.bench.plans import Report
from cbnet_lab.bench.result_table import FLAT, ResultTable
from cbnet_lab.bench.timing import wait_until_quiet
from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.http import http_clients
from cbnet_lab.faults.http.http_clients import RouterWatch
from cbnet_lab.faults.http.http_record import HttpRecord, delivery_problems, http_traffic
from cbnet_lab.faults.plans import HttpPlan

CLOSED_WITHIN: Final = 60.0  # seconds; the router closes it after 30 if bytes are queued, otherwise after 40 by pings
_WINDOW: Final = 5_000  # deliveries in flight
_QUIET: Final = 20.0  # seconds without a delivery, after which the others count as missing
_SETTLE: Final = 0.5  # seconds after the last expected delivery, to catch surplus ones
_STATUS: Final = 1.0  # interval of requests for the number of clients, in seconds
_POLL: Final = 0.02  # seconds
_ROUTER: Final = "a"


@dataclass(frozen=True)
class HttpResult:
    """The measurements of a trial, and the violated guarantees."""

    plan: HttpPlan = field(metadata=FLAT)
    watch: RouterWatch = field(metadata=FLAT)
    expected: int  # deliveries
    right: int
    seconds: float  # from the first message until the last delivery
    cpu_us_per_delivery: float  # of the router
    cpu_us_per_message: float
    closed_after_s: float | None  # from the first message until the client that never reads was closed
    problems: list[str]

    @property
    def problem(self) -> str | None:
        """The violated guarantees, if there are any."""
        return "; ".join(self.problems) or None


def run(plan: HttpPlan, report: Report) -> Iterator[HttpResult]:
    """Run a trial."""
    report("starting a router")
    with (
        ThreadPoolExecutor(plan.readers + 2) as threads,  # they end when the router does
        ProcessNetwork([Settings(_ROUTER)], [], http=True) as network,
    ):
        yield _Trial(plan, network, threads, report).run()


def tables(plan: HttpPlan, rows: Sequence[HttpResult]) -> Iterator[ResultTable[HttpResult]]:
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


class _Trial:
    """A running trial; each subscriber is read in a thread of its own."""

    def __init__(self, plan: HttpPlan, network: ProcessNetwork, threads: ThreadPoolExecutor, report: Report) -> None:
        self._plan, self._threads, self._report = plan, threads, report
        self._address, self._pid = str(network.addresses[_ROUTER]), network.pids[_ROUTER]
        self._http = network.http_addresses[_ROUTER]
        self._watch = RouterWatch(self._pid, self._http)
        report("computing the expected deliveries")
        self._traffic = http_traffic(plan.readers, plan.messages, plan.seed)
        self._deliveries = expected_deliveries(self._traffic).deliveries  # of each content
        self._log = HttpRecord(self._traffic)
        self._closed_at: float | None = None  # when the client that never reads was closed
        self._arrived = SimpleQueue[tuple[int, dict[str, Any] | None]]()  # by subscriber; None: its connection ended
        self._is_over = Event()

    def run(self) -> HttpResult:
        """Subscribe and publish; wait until all is delivered and the client that never reads is closed."""
        try:
            return self._run()
        finally:
            self._is_over.set()

    def _run(self) -> HttpResult:
        self._report("subscribing")
        self._threads.submit(self._watch.run, self._is_over)
        for number, predicate in self._traffic.predicates:
            self._subscribe(number, predicate)
        with connect(self._address) as observer, connect_socket(http_clients.url(self._http)) as publisher:
            http_clients.answer(publisher, "welcome")
            others = observer.status().clients
            with closing(http_clients.stalled_client(self._http)):
                self._watch.memory_connected_mb = self._watch.memory_mb
                cpu, began = cpu_nanoseconds(self._pid), time.monotonic()
                waiting = self._threads.submit(self._wait_for_close, observer, others)
                self._publish(publisher)
                self._receive_all()
                used, ended = cpu_nanoseconds(self._pid) - cpu, time.monotonic()
                self._report("waiting until the client that never reads is closed")
                self._receive(_SETTLE)
                while self._closed_at is None and time.monotonic() < began + CLOSED_WITHIN:
                    self._receive(_POLL)
                self._is_over.set()
                waiting.result()
        found = self._findings()
        expected = found.counts["expected"]
        return HttpResult(
            plan=self._plan,
            watch=self._watch,
            expected=expected,
            right=expected - found.number("lost"),
            seconds=ended - began,
            cpu_us_per_delivery=used / 1000 / max(1, expected),
            cpu_us_per_message=used / 1000 / self._plan.messages,
            closed_after_s=None if self._closed_at is None else self._closed_at - began,
            problems=[*delivery_problems(found)],
        )

    def _subscribe(self, number: int, predicate: str) -> None:
        """Connect a subscriber that reads."""
        is_stream = number < self._plan.streams
        stream = (http_clients.event_stream if is_stream else http_clients.web_socket)(self._http, predicate)
        try:
            is_confirmed = any("confirmed" in members for members in stream)
        except TimeoutError:
            is_confirmed = False
        if not is_confirmed:
            raise CbnetError(f"{predicate}: the subscription was not confirmed")
        self._threads.submit(self._read, number, stream)

    def _read(self, number: int, stream: Iterator[dict[str, Any]]) -> None:
        try:
            for members in stream:
                self._arrived.put((number, members))
        except (OSError, ConnectionClosed):
            pass
        self._arrived.put((number, None))

    def _publish(self, publisher: ClientConnection) -> None:
        """Publish all messages, each after the answer to the previous one."""
        pace = Pace(Order(0, self._plan.messages, window=_WINDOW), self._deliveries, self._log.count)
        for number in range(self._plan.messages):
            while (seconds := pace.wait(number)) > 0:
                self._receive(seconds)
            http_clients.send(publisher, op="publish", number=number, **self._log.publish(number))
            http_clients.answer(publisher, "published")
            self._receive(0)
            if number % 50 == 0:
                self._report(f"{number:,} of {self._plan.messages:,} messages published")

    def _receive_all(self) -> None:
        """Receive until as many deliveries have arrived as expected, or none arrives any more."""

        def receive() -> int:
            self._receive(0)
            return self._log.count.total()

        expected = sum(self._deliveries[number % len(self._deliveries)] for number in range(self._plan.messages))
        wait_until_quiet(receive, expected, settle=0.0, quiet=_QUIET)

    def _receive(self, seconds: float) -> None:
        """Record what has arrived, and what arrives within `seconds`."""
        end = time.monotonic() + seconds
        while True:
            try:
                number, members = self._arrived.get(timeout=max(0.0, end - time.monotonic()))
            except Empty:
                return
            if members is None:
                self._log.end(number)
            else:
                self._log.receive(number, members)

    def _wait_for_close(self, observer: Client, others: int) -> None:
        """Wait until the router has closed the client that never reads, according to its number of clients."""
        while not self._is_over.wait(_STATUS) and self._closed_at is None:
            if observer.status().clients <= others - self._log.ended:
                self._closed_at = time.monotonic()

    def _findings(self) -> Findings:
        state = "connected" if self._closed_at is None else "closed"
        self._log.compare("stalled client", f"the client that never reads, after {CLOSED_WITHIN:g} s", state, "closed")
        checks = self._watch.health_checks
        self._log.compare("health", f"health checks of {checks:,} that failed", self._watch.failures, 0)
        return self._log.findings()
