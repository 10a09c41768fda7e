"""A history over real processes: routers with SQLite journals, relays on their links, and clients over TCP.

The seed determines the network, the clients, the faults and their times; the scheduling of processes depends on the
machine, so a history cannot be repeated exactly.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from msgspec.json import encode

from cbnet.errors import CbnetError
from cbnet.network import ProcessNetwork, Settings, connect
from cbnet.network.client.async_subscription import DurableDelivery
from cbnet_lab.bench.routing import Routing
from cbnet_lab.faults.check.subscription import matches
from cbnet_lab.faults.driver.driver import Fault, FaultDriver
from cbnet_lab.faults.driver.processes import ProcessFaults
from cbnet_lab.faults.histories.plan import HistoryPlan
from cbnet_lab.faults.histories.process_clients import HistoryClient, HistoryLog, HistoryPublisher, HistorySubscriber
from cbnet_lab.faults.record import BeginEvent, EndEvent, Event, HealEvent, KeptEvent, PublishEvent, sender

_QUICK: Final[dict[str, Any]] = {"heartbeat": 0.5, "dead": 2.5, "retry": 0.5}
_SLACK = 4.0  # seconds: all processes may share a busy processor
_RECOVERY = 20.0  # seconds
_START = 60.0  # timeout for routers and clients to start, in seconds
_AFTER = 1.0  # seconds of publishing after all faults are repaired
_END = 60.0  # timeout for clients to end, in seconds
_IDLE = 2.0  # seconds without a message after which a log has been read completely
_MAX_CLIENTS = 100
_POLL = 0.2  # seconds
_DRAIN = 90.0  # timeout for the remaining deliveries, in seconds


def run_process_history(seed: int, routing: Routing) -> list[Event]:
    """Run the history of a seed; return its events."""
    plan = HistoryPlan.of_processes(seed)
    settings = [Settings(name, history=plan.logs.get(name, ""), **_QUICK, **routing.settings) for name in plan.routers]
    with (
        tempfile.TemporaryDirectory(prefix="cbnet-history-") as journals,
        _ProcessHistory(plan, ProcessNetwork(settings, plan.links, journals=Path(journals)), seed) as history,
    ):
        history.start(_START)
        return history.run()


class _ProcessHistory(ProcessFaults):
    """One running history; clients are among the parts that fail."""

    def __init__(self, plan: HistoryPlan, network: ProcessNetwork, seed: int) -> None:
        super().__init__(network, plan.link_names, seed)
        self._plan = plan
        self._addresses = {name: str(address) for name, address in network.addresses.items()}
        self._log = log = HistoryLog()
        self._pool = self.enter_context(ThreadPoolExecutor(_MAX_CLIENTS))
        self._subscribers = {
            client: HistorySubscriber(log, client, self._addresses[each.home], each, seed)
            for each in plan.subscriptions
            for client in each.clients
        }
        self._publishers = [
            HistoryPublisher(log, name, [self._addresses[each] for each in routers], seed)
            for name, routers in plan.publishers.items()
        ]

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return self._log.now

    def begin(self, fault: Fault) -> bool:
        """Begin a fault."""
        if fault.kind == "leave":
            self._subscribers[fault.of].is_away.set()
            return True
        return super().begin(fault)

    def end(self, fault: Fault) -> None:
        """End a fault."""
        if fault.kind == "leave":
            self._subscribers[fault.of].is_away.clear()
        else:
            super().end(fault)

    # --- the run

    def run(self) -> list[Event]:
        """Run to the end; return the events."""
        log, plan = self._log, self._plan
        log.append(BeginEvent(log.now, len(plan.routers), _SLACK, _RECOVERY))
        driver = FaultDriver(self, log.append)
        try:
            receiving = [self._start(subscriber) for subscriber in self._subscribers.values()]
            publishing = [self._pool.submit(publisher.run) for publisher in self._publishers]
            driver.run(plan.faults, plan.seconds)
            driver.end_all()
            for subscriber in self._subscribers.values():
                subscriber.is_patient.set()
            log.append(HealEvent(log.now))
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
        log.append(EndEvent(log.now, waiting))
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

    def _kept(self, router: str) -> KeptEvent:
        """Read the log of a router."""
        messages: list[tuple[int, str, int]] = []
        predicate = self._plan.logs[router]
        with connect(self._addresses[router], timeout=_START) as client:
            reader = client.subscribe(predicate, since="first", timeout=_START)
            assert reader.history is not None
            while deliveries := reader.take(timeout=_IDLE):
                for delivery in deliveries:
                    assert isinstance(delivery, DurableDelivery)
                    messages.append((delivery.offset, *sender(delivery.payload)))
        return KeptEvent(self.now, router, predicate, reader.history.first, messages)

    def _wait_for_readers(self, kept: KeptEvent) -> None:
        """Wait until the readers of a log have its last matching message: a reader may have been away until now."""
        contents = {(each.publisher, each.number): each for each in self._log if isinstance(each, PublishEvent)}
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
            with connect(self._addresses[home], timeout=_START) as client:
                counts.update((each.name, each.messages) for each in client.durable_subscriptions().subscriptions)
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
