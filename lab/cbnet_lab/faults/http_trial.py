"""The HTTP trial: one router process, and many HTTP subscribers under load, one of which never reads.

                                        ┌─► event streams ─┐
    publisher, a WebSocket ─► router a ─┼─► WebSockets ────┴─► HttpRecord, checked
                                        └─► a WebSocket that never reads, until the router closes it

The messages are trades, for subscribers with every kind of predicate. At most `_WINDOW` deliveries are in flight, so
that no subscriber that reads is too slow.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from random import Random
from threading import Event
from typing import Any, Final

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as connect_socket

from cbnet.errors import CbnetError
from cbnet.network import ProcessNetwork, Settings, connect
from cbnet.network.client.blocking_client import Client
from cbnet_lab.bench.network.load_clients import DeliveryCount, Order, Pace
from cbnet_lab.bench.network.traffic import Traffic, expected_deliveries
from cbnet_lab.bench.plans import Report
from cbnet_lab.bench.result_table import FLAT, ResultTable
from cbnet_lab.bench.timing import cpu_nanoseconds, wait_until_quiet
from cbnet_lab.faults import http_clients
from cbnet_lab.faults.check.checker import settled_checker
from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.driver.router_output import RouterOutput
from cbnet_lab.faults.http_clients import RouterWatch
from cbnet_lab.faults.plans import HttpPlan
from cbnet_lab.faults.record import CompareEvent, PublishEvent, ReceiveEvent

CONTENTS: Final = 500  # different messages
_SYMBOLS: Final = [f"s{number:02d}.eq" for number in range(50)]
_VENUES: Final = ("XNYS", "XNAS", "XLON")
_TAGS: Final = ("bank", "energy", "tech", "eu", "us")
_PRICES, _VOLUMES = 100, 1_000
KINDS: Final = (
    'symbol = "{symbol}"',
    "price >= {low} and price < {high}",
    'symbol ^= "s{digit5}" and venue != "{venue}"',
    'symbol *= "{digit}.e"',
    'symbol in ("{symbol}", "{symbol2}", "{symbol3}")',
    "#{tag} and #{tag2}",
    "price * volume > {turnover}",
    'absent limit and venue = "{venue}"',
    '(symbol = "{symbol}" or price >= {low} and price < {high}) and not #{tag} or limit < {digit5}',
)
_PADDING = "." * 200
_PUBLISHER = "publisher"
_DELIVERIES = {  # wrong deliveries, by kind of violation
    "lost": "missing", "repeated": "duplicate", "spurious": "spurious", "altered": "altered", "order": "out of order",
    "loss reported": "reported as lost",
}  # fmt: skip
CLOSED_WITHIN: Final = 60.0  # seconds; the router closes it after 30 if bytes are queued, otherwise after 40 by pings
_WINDOW: Final = 5_000  # deliveries in flight
_QUIET: Final = 20.0  # seconds without a delivery, after which the others count as missing
_SETTLE: Final = 0.5  # seconds after the last expected delivery, to catch surplus ones
_STATUS: Final = 1.0  # interval of requests for the number of clients, in seconds
_POLL: Final = 0.02  # seconds
_ROUTER: Final = "a"


def http_traffic(subscribers: int, messages: int, seed: int) -> Traffic:
    """Return a predicate for each subscriber, of each kind in turn, and different messages."""
    random = Random(seed)
    predicates = [[KINDS[number % len(KINDS)].format(**_values(random))] for number in range(subscribers)]
    contents = [_content(random) for _ in range(min(CONTENTS, messages))]
    return Traffic(predicates, contents, subscribers)


def _values(random: Random) -> dict[str, Any]:
    low = random.randrange(_PRICES - 5)
    symbols, tags = random.sample(_SYMBOLS, 3), random.sample(_TAGS, 2)
    return {
        "low": low, "high": low + 5, "digit": random.randrange(10), "digit5": random.randrange(5),
        "symbol": symbols[0], "symbol2": symbols[1], "symbol3": symbols[2], "tag": tags[0], "tag2": tags[1],
        "venue": random.choice(_VENUES), "turnover": random.randrange(60, 95) * _PRICES * _VOLUMES // 100,
    }  # fmt: skip


def _content(random: Random) -> dict[str, Any]:
    content: dict[str, Any] = {
        "symbol": random.choice(_SYMBOLS),
        "price": random.randrange(_PRICES * 4) / 4,
        "volume": random.randrange(_VOLUMES),
        "venue": random.choice(_VENUES),
        "#": sorted(random.sample(_TAGS, random.randrange(4))),
    }
    if random.random() < 0.7:
        content["limit"] = random.randrange(_PRICES)
    return content


class HttpRecord:
    """Messages by number, and their deliveries to each subscriber."""

    def __init__(self, traffic: Traffic) -> None:
        self._contents = traffic.contents
        self._checker = settled_checker({f"s{number}": predicate for number, predicate in traffic.predicates})
        self.count = DeliveryCount([0])
        self.ended = 0  # connections of subscribers

    def publish(self, number: int) -> dict[str, Any]:
        """Record a message; return its members."""
        content = dict(self._contents[number % len(self._contents)])
        payload = f"{number} {_PADDING}"
        self._checker.add(PublishEvent(time.monotonic(), _PUBLISHER, number, content, payload=payload))
        return {"message": content, "payload": payload}

    def receive(self, subscriber: int, members: Mapping[str, Any]) -> None:
        """Record a message, or a loss that the router reports."""
        now, name = time.monotonic(), f"s{subscriber}"
        if "message" in members:
            payload, content = members.get("payload") or "", {"#": [], **members["message"]}
            number = int(digits) if (digits := payload.split(" ")[0]).isdecimal() else -1
            self._checker.add(ReceiveEvent(now, name, name, 0, 1, _PUBLISHER, number, content, payload))
            self.count.add(0, 1)
        elif "messages" in members:
            self._checker.add(*[CompareEvent(now, "loss reported", name, True, False)] * (members["messages"] or 1))

    def end(self, subscriber: int) -> None:
        """Record the end of the connection of a subscriber."""
        self.ended += 1
        self.compare("connection", f"subscriber {subscriber}", "closed", "open")

    def compare(self, kind: str, text: str, found: object, expected: object) -> None:
        """Record a part of the state of the router, and its expected value."""
        self._checker.add(CompareEvent(time.monotonic(), kind, text, found, expected))

    def findings(self) -> Findings:
        """Return the findings of the whole trial."""
        return self._checker.end()


def delivery_problems(found: Findings) -> Iterator[str]:
    """Yield the violated guarantees: the number of wrong deliveries of each kind, and all others."""
    for kind, texts in found.violations.items():
        if kind in _DELIVERIES:
            yield f"{len(texts):,} deliveries {_DELIVERIES[kind]}"
    for kind, texts in found.violations.items():
        yield from texts if kind not in _DELIVERIES else ()


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
        RouterOutput() as output,
        ProcessNetwork([Settings(_ROUTER)], [], http=True, stderr=output.file) as network,
    ):
        yield _Trial(plan, network, output, threads, report).run()


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

    def __init__(
        self, plan: HttpPlan, network: ProcessNetwork, output: RouterOutput, threads: ThreadPoolExecutor, report: Report
    ) -> None:
        self._plan, self._output, self._threads, self._report = plan, output, threads, report
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
        self._log.compare("crashed", "exceptions of the router", self._output.tracebacks(), [])
        return self._log.findings()
