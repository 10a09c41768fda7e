"""A history over real processes: routers with SQLite journals, relays on their links, and clients in threads.

The seed determines the network, the clients, the faults and their times; the scheduling of processes depends on the
machine, so a history cannot be repeated exactly.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, Final

from msgspec.json import encode

from cbnet.errors import CbnetError
from cbnet.network import Client, Delivery, NotConnected, NotStored, ProcessNetwork, Refused, Settings, connect
from cbnet.network.client.async_subscription import DurableDelivery
from cbnet.network.client.blocking_client import Subscription
from cbnet.network.client.client_events import ClientEvent, EventKind
from cbnet.network.client.durable.durable_publishing import Receipt
from cbnet.network.protocol.frames import DurableLimits
from cbnet.network.security.tokens import new_token
from cbnet_lab.bench.plan_options import Routing
from cbnet_lab.faults import record
from cbnet_lab.faults.check.subscription import matches
from cbnet_lab.faults.driver.database import DATABASE_FAULTS, FaultyDatabase
from cbnet_lab.faults.driver.driver import Fault, FaultDriver
from cbnet_lab.faults.driver.processes import ProcessFaults
from cbnet_lab.faults.driver.router_output import RouterOutput
from cbnet_lab.faults.history_plan import KEYS, OTHER, OWN, HistoryPlan, PlannedSubscription

_ACK_WAIT = 8.0  # seconds
_TIMEOUTS = (3.0, 10.0, 30.0)  # seconds, of publishers
_BATCHES = (1, 1, 5, 20)  # messages
_RATE = 20.0  # batches per second, at most
_POLL = 0.1  # seconds
_CONNECT = 60.0  # seconds
_QUICK: Final[dict[str, Any]] = {"heartbeat": 0.5, "dead": 2.5, "retry": 0.5}
_SLACK = 4.0  # seconds: all processes may share a busy processor
_RECOVERY = 20.0  # seconds
_START = 60.0  # timeout for routers and clients to start, in seconds
_AFTER = 1.0  # seconds of publishing after all faults are repaired
_END = 60.0  # timeout for clients to end, in seconds
_IDLE = 2.0  # seconds without a message after which a log has been read completely
_MAX_CLIENTS = 100
_OPERATOR: Final = "operator"  # the account that reads the state of the routers
_RIGHTS: Final = {"publish": "true", "subscribe": "true"}
_DRAIN = 90.0  # timeout for the remaining deliveries, in seconds


class HistoryLog(list[record.RunEvent]):
    """The events of all threads."""

    def __init__(self) -> None:
        super().__init__()
        self._began = time.monotonic()

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began


class HistoryClient:
    """A client; its `run` returns once `is_over` is set."""

    def __init__(self, log: HistoryLog, name: str, addresses: Sequence[str], seed: int, token: str | None) -> None:
        self.log = log
        self.name = name
        self.is_over = threading.Event()
        self.random = Random(f"{seed} {name}")
        self._addresses = addresses
        self._token = token

    def connect(self) -> Client:
        """Connect, retrying while the router does not run, and record interruptions of the connection."""
        end = time.monotonic() + _CONNECT
        while True:
            try:
                client = connect(
                    self._addresses, name=self.name.replace(" ", "-"), timeout=_CONNECT, token=self._token
                )  # fmt: skip
                break
            except NotConnected:
                if time.monotonic() >= end:
                    raise
                time.sleep(_POLL)
        client.on_event = self.note
        return client

    def note(self, event: ClientEvent) -> None:
        """Record an event of the connection."""
        self.log.append(record.FaultEvent(self.log.now, self.name, str(event.kind)))


class HistorySubscriber(HistoryClient):
    """A client of a durable subscription, or of one that starts with the log; it leaves and returns."""

    def __init__(
        self,
        log: HistoryLog,
        name: str,
        addresses: Sequence[str],
        seed: int,
        token: str | None,
        planned: PlannedSubscription,
    ) -> None:
        super().__init__(log, name, addresses, seed, token)
        self.planned = planned
        self.is_durable = planned.kind == "durable"
        self.confirmed = threading.Event()
        self.is_away = threading.Event()
        self.is_patient = threading.Event()  # set: acknowledge every message
        self.last = 0  # offset of the last message received

    def run(self) -> None:
        """Receive messages until `is_over` is set."""
        while not self.is_over.is_set():
            if self.is_away.is_set():
                time.sleep(_POLL)
                continue
            with self.connect() as client:
                joined = self._join(client)
                while not (self.is_over.is_set() or self.is_away.is_set()):
                    for delivery in joined.take(timeout=_POLL):
                        self._receive(delivery)

    def note(self, event: ClientEvent) -> None:
        """Record an event of the connection, or a loss that is reported."""
        if event.kind == EventKind.LOST:
            name = self.planned.name
            self.log.append(record.LostEvent(self.log.now, self.name, name, event.messages or 0, event.text))
        else:
            super().note(event)

    def _join(self, client: Client) -> Subscription:
        planned, log = self.planned, self.log
        log.append(planned.event(log.now, self.name, _ACK_WAIT))
        wait = not self.confirmed.is_set()
        joined = client.subscribe(
            planned.predicate,
            durable=planned.name if self.is_durable else "",
            since=None if self.is_durable else self.last + 1,
            ack_wait=_ACK_WAIT if self.is_durable else None,
            limits=DurableLimits(messages=planned.limit) if planned.limit else None,
            wait=wait,
            timeout=_CONNECT,
        )
        if joined.history is not None:
            log.append(record.ReplayEvent(log.now, self.name, planned.name, joined.history.first))
        if wait:
            log.append(record.ConfirmEvent(log.now, planned.name, joined.confirmation.routers))
            self.confirmed.set()
        return joined

    def _receive(self, delivery: Delivery) -> None:
        assert isinstance(delivery, DurableDelivery)
        log, name, offset = self.log, self.planned.name, delivery.offset
        log.append(
            record.ReceiveEvent(log.now, self.name, name, offset, delivery.deliveries, *record.sender(delivery.payload))
        )
        self.last = offset
        if self.is_durable and (self.is_patient.is_set() or self.random.random() < 0.95):
            delivery.acknowledge()
            log.append(record.AcknowledgeEvent(log.now, self.name, name, offset))


class HistoryPublisher(HistoryClient):
    """A durable publisher."""

    def run(self) -> None:
        """Publish until `is_over` is set, and wait for all receipts."""
        first = 1
        with self.connect() as client:
            while not self.is_over.is_set():
                numbers = range(first, first + self.random.choice(_BATCHES))
                self._publish(client, numbers, self.random.choice(_TIMEOUTS))
                first = numbers.stop
                time.sleep(self.random.expovariate(_RATE))

    def _publish(self, client: Client, numbers: range, timeout: float) -> None:
        log, name = self.log, self.name
        contents = [{"k": self.random.randrange(KEYS)} for _ in numbers]
        for number, content in zip(numbers, contents, strict=True):
            log.append(record.PublishEvent(log.now, name, number, content, timeout))
        payloads = [f"{name} {number}".encode() for number in numbers]
        receipts = _receipts(lambda: client.publish_durably(contents, payloads, timeout=timeout), len(numbers))
        for number, receipt in zip(numbers, receipts, strict=True):
            log.append(record.receipt_event(log.now, name, number, receipt))


def _receipts(publish: Callable[[], list[Receipt]], count: int) -> list[Receipt]:
    """Publish messages; return their receipts, including those of messages that are not stored."""
    try:
        return publish()
    except NotStored as error:
        return list(error.receipts)
    except NotConnected as error:
        return [Receipt(0, 0, [str(error)], [])] * count
    except Refused as error:
        return [Receipt(0, 0, [], [str(error)])] * count


def run_process_history(seed: int, routing: Routing) -> list[record.RunEvent]:
    """Run the history of a seed; return its events."""
    plan = HistoryPlan.of_processes(seed)
    homes = {name: plan.home_of(name) for name in plan.routers}
    settings = [
        Settings(name, home=home, history=plan.logs.get(home, ""), **_QUICK, **routing.settings)
        for name, home in homes.items()
    ]
    has_accounts = any(each.limit for each in plan.subscriptions)
    tokens = {name: new_token(name) for name in ((OWN, OTHER, _OPERATOR) if has_accounts else ())}
    accounts = {name: {"token": each.hash, **_RIGHTS, "watch": name == _OPERATOR} for name, each in tokens.items()}
    policy = {"routers": tuple(plan.routers), "clients": accounts}
    security = {name: policy for name in plan.routers if accounts}
    with RouterOutput() as output:
        with (
            FaultyDatabase(plan.database) as database,
            tempfile.TemporaryDirectory(prefix="cbnet-history-") as folder,
        ):
            journals = database.uri or Path(folder)
            network = ProcessNetwork(settings, plan.links, journals=journals, security=security, stderr=output.file)
            known = {name: each.token for name, each in tokens.items()}
            with _ProcessHistory(plan, network, seed, database, known) as history:
                history.start(_START, token=known.get(_OPERATOR))
                events = history.run()
        return [*events, output.event(history.now)]


class _ProcessHistory(ProcessFaults):
    """One running history; clients are among the parts that fail."""

    def __init__(
        self,
        plan: HistoryPlan,
        network: ProcessNetwork,
        seed: int,
        database: FaultyDatabase,
        tokens: Mapping[str, str],
    ) -> None:
        super().__init__(network, ["-".join(link) for link in plan.links], seed)
        self._plan, self._database = plan, database
        self._unstarted: list[Fault] = []  # of routers that are started again when the database is mended
        self._token = tokens.get(_OPERATOR)
        self._addresses = {name: str(address) for name, address in network.addresses.items()}
        self._log = log = HistoryLog()
        self._pool = self.enter_context(ThreadPoolExecutor(_MAX_CLIENTS))
        self._subscribers = {
            client: HistorySubscriber(
                log, client, self._addresses_of(each.home), seed, tokens.get(OTHER if each.limit else OWN), each
            )
            for each in plan.subscriptions
            for client in each.clients
        }
        self._publishers = [
            HistoryPublisher(log, name, [self._addresses[each] for each in routers], seed, tokens.get(OWN))
            for name, routers in plan.publishers.items()
        ]

    def _addresses_of(self, home: str) -> list[str]:
        return [self._addresses[name] for name in self._plan.routers_of(home)]

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return self._log.now

    def begin(self, fault: Fault) -> bool:
        """Begin a fault."""
        if fault.kind == "leave":
            self._subscribers[fault.of].is_away.set()
            return True
        if fault.kind in DATABASE_FAULTS:
            is_begun = self._database.begin(fault.kind)
            if is_begun:
                self._note_routers(fault, is_end=False)
            return is_begun
        return super().begin(fault)

    def end(self, fault: Fault) -> None:
        """End a fault."""
        if fault.kind == "leave":
            self._subscribers[fault.of].is_away.clear()
        elif fault.kind in DATABASE_FAULTS:
            self._database.end(fault.kind)
            self._note_routers(fault, is_end=True)
            started, self._unstarted = self._unstarted, []
            for each in started:
                super().end(each)
        elif self._database.is_broken and fault.kind == "kill":
            self._unstarted.append(fault)  # it ends at once without its journal
        else:
            super().end(fault)

    def _note_routers(self, fault: Fault, *, is_end: bool) -> None:
        """Record a fault of the database as one of each router, as it has the journals of all."""
        for name in self._plan.routers:
            self._log.append(record.FaultEvent(self.now, name, fault.kind, is_end))

    # --- the run

    def run(self) -> list[record.RunEvent]:
        """Run to the end; return the events."""
        log, plan = self._log, self._plan
        groups = {home: [*routers] for home, routers in plan.groups.items()}
        log.append(record.BeginEvent(log.now, len(plan.routers), _SLACK, _RECOVERY, groups=groups))
        driver = FaultDriver(self, log.append)
        try:
            receiving = [self._start(subscriber) for subscriber in self._subscribers.values()]
            publishing = [self._pool.submit(publisher.run) for publisher in self._publishers]
            driver.run(plan.faults, plan.seconds)
            driver.end_all()
            for subscriber in self._subscribers.values():
                subscriber.is_patient.set()
            log.append(record.HealEvent(log.now))
            time.sleep(_AFTER)
            _end(self._publishers, publishing)
            waiting = self._drain()
            for router in plan.logs:
                kept = self._kept(router)
                log.append(kept)
                self._wait_for_readers(kept)
        finally:
            for client in (*self._publishers, *self._subscribers.values()):
                client.is_over.set()
        _end(self._subscribers.values(), receiving)
        log.append(record.EndEvent(log.now, waiting))
        return log

    def _start(self, subscriber: HistorySubscriber) -> Future[None]:
        running = self._pool.submit(subscriber.run)
        if not subscriber.confirmed.wait(_START):
            raise CbnetError(f"the subscription of {subscriber.name} was not confirmed")
        return running

    def _drain(self) -> dict[str, int]:
        """Wait until all messages are acknowledged; return the number that are not, by subscription."""
        end = self.now + _DRAIN
        while any((waiting := self._waiting()).values()) and self.now < end:
            time.sleep(_POLL)
        return waiting

    def _kept(self, router: str) -> record.KeptEvent:
        """Read the log of a router."""
        messages: list[tuple[int, str, int]] = []
        predicate = self._plan.logs[router]
        with connect(self._addresses[router], timeout=_START, token=self._token) as client:
            reader = client.subscribe(predicate, since="first", timeout=_START)
            assert reader.history is not None
            while deliveries := reader.take(timeout=_IDLE):
                for delivery in deliveries:
                    assert isinstance(delivery, DurableDelivery)
                    messages.append((delivery.offset, *record.sender(delivery.payload)))
        return record.KeptEvent(self.now, router, predicate, reader.history.first, messages)

    def _wait_for_readers(self, kept: record.KeptEvent) -> None:
        """Wait until the readers of a log have its last matching message: a reader may have been away until now."""
        contents = {(each.publisher, each.number): each for each in self._log if isinstance(each, record.PublishEvent)}
        sent = [(offset, encode(contents[name, number].message)) for offset, name, number in kept.messages]
        readers = [
            (each, max((offset for offset, message in sent if matches(each.planned.predicate, message)), default=0))
            for each in self._subscribers.values()
            if not each.is_durable and each.planned.home == kept.router
        ]
        end = self.now + _DRAIN
        while any(each.last < last for each, last in readers) and self.now < end:
            time.sleep(_POLL)

    def _waiting(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for home in self._plan.homes:
            found: dict[str, int] = {}
            for address in self._addresses_of(home):
                with connect(address, timeout=_START, token=self._token) as client:
                    found.update((each.name, each.messages) for each in client.durable_subscriptions().subscriptions)
            counts |= found or {f"home {home}, which nobody holds": 1}
        return counts


def _end(clients: Iterable[HistoryClient], running: Iterable[Future[None]]) -> None:
    """End clients; raise the error of a client that failed."""
    for client in clients:
        client.is_over.set()
    for future in running:
        try:
            future.result(_END)
        except TimeoutError:
            raise CbnetError(f"a client did not end in {_END:g} s") from None
