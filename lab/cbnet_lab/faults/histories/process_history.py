"""A history over real processes: routers with SQLite journals, relays on their links, and clients over TCP.

The seed decides the network, the clients and the faults, each with its time; how processes are scheduled is up to
the machine, so a history cannot be repeated exactly.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from cbnet.errors import CbnetError
from cbnet.network import ProcessNetwork, Settings, connect
from cbnet.network.client.durable.durable_delivery import DurableDelivery
from cbnet_lab.bench.routing import Routing
from cbnet_lab.faults.histories.history import BeginEvent, EndEvent, Event, HealEvent, KeptEvent
from cbnet_lab.faults.histories.process_clients import HistoryLog, HistoryPublisher, HistorySubscriber
from cbnet_lab.faults.histories.process_faults import ProcessFaults
from cbnet_lab.faults.histories.process_plan import LOG, SECONDS, PlannedFault, ProcessPlan
from cbnet_lab.faults.relay import Relay

_QUICK: Final[dict[str, Any]] = {"heartbeat": 0.5, "dead": 2.5, "retry": 0.5}
_SLACK = 4.0  # seconds: all processes may share a busy processor
_RECOVERY = 20.0  # seconds
_START = 60.0  # seconds for routers and clients to start
_AFTER = 1.0  # seconds for which messages are published when all is mended
_END = 60.0  # seconds for clients to end
_IDLE = 2.0  # seconds after the last message of a log
_DRAIN = 90.0  # seconds for the rest to be delivered


def run_process_history(seed: int, routing: Routing) -> list[Event]:
    """Run the history of a seed; return its events."""
    plan = ProcessPlan.of(seed)
    with ExitStack() as stack:
        journals = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cbnet-history-")))
        logs = dict.fromkeys(plan.logs, LOG)
        settings = [Settings(name, history=logs.get(name, ""), **_QUICK, **routing.settings) for name in plan.routers]
        network = ProcessNetwork(settings, plan.links, journals=journals)
        stack.callback(network.close)
        relays = {(a, b): Relay(network.addresses[b]) for a, b in plan.links}
        for link, relay in relays.items():
            stack.callback(relay.close)
            network.relays[link] = relay.address
        network.start(*plan.routers)
        network.wait(_START)
        faults = ProcessFaults(network, {"-".join(link): each for link, each in relays.items()}, journals, seed)
        return _ProcessHistory(plan, network, faults, seed).run()


class _ProcessHistory:
    """The course of one history."""

    def __init__(self, plan: ProcessPlan, network: ProcessNetwork, faults: ProcessFaults, seed: int) -> None:
        self._plan = plan
        self._addresses = {name: str(address) for name, address in network.addresses.items()}
        self._faults = faults
        self._log = log = HistoryLog()
        self._subscribers = {
            client: HistorySubscriber(log, client, self._addresses[each.home], each, f"{seed}")
            for each in plan.subscriptions
            for client in each.clients
        }
        self._publishers = [
            HistoryPublisher(log, name, [self._addresses[each] for each in routers], f"{seed}")
            for name, routers in plan.publishers.items()
        ]

    def run(self) -> list[Event]:
        """Run to the end; return the events."""
        log = self._log
        log.events.append(BeginEvent(log.now, len(self._plan.routers), _SLACK, _RECOVERY))
        try:
            self._start()
            self._break()
            for subscriber in self._subscribers.values():
                subscriber.is_patient.set()
            log.events.append(HealEvent(log.now))
            time.sleep(_AFTER)
            for publisher in self._publishers:
                publisher.is_over.set()
            for publisher in self._publishers:
                publisher.result(_END)
            waiting = self._drain()
            for router in self._plan.logs:
                kept = self._kept(router)
                log.events.append(kept)
                self._wait_for_readers(kept)
        finally:
            for client in (*self._publishers, *self._subscribers.values()):
                client.is_over.set()
        for subscriber in self._subscribers.values():
            subscriber.result(_END)
        log.events.append(EndEvent(log.now, waiting))
        return log.events

    def _start(self) -> None:
        for subscriber in self._subscribers.values():
            subscriber.start()
            if not subscriber.confirmed.wait(_START):
                raise CbnetError(f"the subscription of {subscriber.client_name} was not confirmed")
        for publisher in self._publishers:
            publisher.start()

    def _break(self) -> None:
        """Let the faults begin and end, in the order of their times."""
        began = self._log.now
        acts = sorted(
            [(fault.at, index, fault, True) for index, fault in enumerate(self._plan.faults)]
            + [(fault.end, index, fault, False) for index, fault in enumerate(self._plan.faults)]
        )
        for at, _, fault, is_begin in acts:
            time.sleep(max(0.0, began + at - self._log.now))
            if is_begin:
                self._begin(fault)
            else:
                self._end(fault)
        time.sleep(max(0.0, began + SECONDS - self._log.now))

    def _begin(self, fault: PlannedFault) -> None:
        self._log.fault(fault.of, fault.kind)
        if fault.kind == "leave":
            self._subscribers[fault.of].is_away.set()
        else:
            self._faults.begin(fault.kind, fault.of)

    def _end(self, fault: PlannedFault) -> None:
        if fault.kind == "leave":
            self._subscribers[fault.of].is_away.clear()
        else:
            self._faults.end(fault.kind, fault.of)
        self._log.fault(fault.of, "free disk" if fault.kind == "full disk" else f"end of {fault.kind}")

    def _drain(self) -> dict[str, int]:
        """Wait until all is delivered and acknowledged; return how many messages of each subscription are not."""
        end = self._log.now + _DRAIN
        while any((waiting := self._waiting()).values()) and self._log.now < end:
            time.sleep(0.5)
        return waiting

    def _kept(self, router: str) -> KeptEvent:
        """Read the log of a router."""
        messages: list[tuple[int, str, int]] = []
        with connect(self._addresses[router], timeout=_START) as client:
            reader = client.subscribe(LOG, since="first", timeout=_START)
            assert reader.history is not None
            while deliveries := reader.take(timeout=_IDLE):
                for delivery in deliveries:
                    assert isinstance(delivery, DurableDelivery)
                    publisher, number = delivery.payload.decode().split()
                    messages.append((delivery.offset, publisher, int(number)))
        return KeptEvent(self._log.now, router, LOG, reader.history.first, messages)

    def _wait_for_readers(self, kept: KeptEvent) -> None:
        """Wait until the readers of a log have its last message: one may have been away until now."""
        last = max((offset for offset, _, _ in kept.messages), default=0)
        own = [each for each in self._subscribers.values() if each.subscription.home == kept.router]
        readers = [each for each in own if not each.subscription.is_durable]
        end = self._log.now + _DRAIN
        while any(each.last < last for each in readers) and self._log.now < end:
            time.sleep(_IDLE)

    def _waiting(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for home in {each.home for each in self._plan.subscriptions}:
            with connect(self._addresses[home], timeout=_START) as client:
                counts.update((each.name, each.messages) for each in client.durable_subscriptions().subscriptions)
        return counts
