"""A random history in simulated time: durable publishers and subscribers of a small network, under faults.

In some histories subscriptions begin in the past, or there are plain subscribers. Some publishers try to pass for
others. Then all is mended, and the rest is delivered. All of it follows from the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TypeAlias

from msgspec.msgpack import decode

from cbnet.network.client.durable.durable_publisher import DurablePublisher
from cbnet.network.durable.history.history import is_note
from cbnet.network.durable.journal import HISTORY_ID
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import DurablePublished
from cbnet.network.simulation.durable_client import DurableMemoryClient
from cbnet.network.simulation.memory_disk import MemoryDisk
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet_lab.bench.routing import Routing
from cbnet_lab.faults.driver.driver import FaultDriver
from cbnet_lab.faults.driver.memory import MemoryFaults
from cbnet_lab.faults.driver.schedule import Fault
from cbnet_lab.faults.histories.memory_clients import AGAIN, MemorySubscriber
from cbnet_lab.faults.histories.plan import KEYS, HistoryPlan
from cbnet_lab.faults.record import (
    BeginEvent,
    EndEvent,
    Event,
    HealEvent,
    KeptEvent,
    PublishEvent,
    ReceiptEvent,
    outcome_of,
)

_RATE = 6.0  # bursts per second, of all publishers
_BURSTS = (1, 1, 2, 10)  # messages
_TIMEOUTS = (3.0, 10.0, 30.0)  # seconds, of publishers
_QUIET = 90.0  # seconds without faults at the end, at most
_STEP = 5.0  # seconds; the last one is without anything left to do
_SLACK = 0.5  # seconds: a tick, and the way to a client and back
_RECOVERY = 15.0  # seconds: a link is dead after some, then dialled again, and messages are sent again
_CONFIRM = 8.0  # seconds for subscriptions to be confirmed
_DISK_DELAYS = (0.001, 0.02, 0.3)  # seconds
_LOG_LIMITS = (1_000_000, 10)  # messages

NewDisk: TypeAlias = Callable[..., MemoryDisk]


class MemoryHistory:
    """One random run."""

    def __init__(self, seed: int, routing: Routing, *, disk: NewDisk = MemoryDisk) -> None:
        """Build the network of a seed; disk: creates the disks."""
        self.events: list[Event] = []
        self._plan = plan = HistoryPlan.in_memory(seed)
        self._random = random = Random(seed)
        self._memory = memory = MemoryNetwork(seed, is_fast=random.random() < 0.3)
        for name in plan.routers:
            has_disk = name in plan.homes or random.random() < 0.7
            own = disk(memory, delay=random.choice(_DISK_DELAYS)) if has_disk else None
            log, most = plan.logs.get(name, ""), random.choice(_LOG_LIMITS)
            memory.add(Settings(name, history=log, history_messages=most, **routing.settings), disk=own)
        for link in plan.links:
            memory.add_cable(*link)
        memory.run(5)
        self._record(BeginEvent(memory.now, len(plan.routers), _SLACK, _RECOVERY, harmless=[AGAIN]))
        self._clients: dict[str, DurableMemoryClient] = {}
        self._publishers = [self._new_publisher(name, routers[0]) for name, routers in plan.publishers.items()]
        self._subscribers = self._new_subscribers()
        acts = {"move": self._move, "impersonate": self._impersonate}
        self._driver = FaultDriver(MemoryFaults(memory, self._clients, acts), self._record)
        self._is_over = False
        self._taken: set[int] = set()  # lives for which publishers try to pass

    def _record(self, event: Event) -> None:
        self.events.append(event)

    def run(self) -> list[Event]:
        """Run to the end; return the record."""
        memory, plan = self._memory, self._plan
        for each in self._subscribers:
            if each.at == 0:
                each.subscribe()
        memory.run(_CONFIRM)
        for each in self._subscribers:
            if each.at > 0:
                memory.after(each.at, each.subscribe)
        for client in self._publishers:
            self._publish_later(client)
        self._driver.run(plan.faults, plan.seconds)
        self._heal()
        self._record_logs()
        self._record(EndEvent(memory.now, self._waiting()))
        return self.events

    # --- clients

    def _new_subscribers(self) -> list[MemorySubscriber]:
        subscribers = []
        for planned in self._plan.subscriptions:
            for name in planned.clients:
                own = MemorySubscriber(self._memory, self._record, self._random, planned, name, len(self._plan.routers))
                self._clients[name] = own.client
                subscribers.append(own)
        return subscribers

    def _new_publisher(self, name: str, router: str) -> DurableMemoryClient:
        client = self._clients[name] = DurableMemoryClient(self._memory, name, router)

        def answered(number: int, receipt: DurablePublished | None) -> None:
            now = self._memory.now
            if receipt is None:
                self._record(ReceiptEvent(now, name, number, "silent", 0))
            else:
                outcome, reason = outcome_of(receipt.silent, receipt.refused), "; ".join(receipt.refused)
                self._record(ReceiptEvent(now, name, number, outcome, receipt.subscriptions, reason))

        client.on_receipt = answered
        return client

    def _move(self, fault: Fault) -> bool:
        client = self._clients[fault.of]
        client.move(self._random.choice(self._plan.routers))
        return True

    def _impersonate(self, fault: Fault) -> bool:
        """Add a publisher that uses the number of another, as subscribers see it."""
        lives = {message.life for each in self._subscribers for message in each.client.stored[-10:]} - self._taken
        if not lives or fault.of in self._clients:
            return False
        client, life = self._new_publisher(fault.of, self._random.choice(self._plan.routers)), min(lives)
        self._taken.add(life)
        client.publisher = DurablePublisher(life)
        self._publishers.append(client)
        self._publish_later(client)
        return True

    def _publish_later(self, client: DurableMemoryClient) -> None:
        rate = _RATE / len(self._publishers)
        self._memory.after(self._random.expovariate(rate), partial(self._publish_again, client))

    def _publish_again(self, client: DurableMemoryClient) -> None:
        if not self._is_over:
            self._publish(client)
            self._publish_later(client)

    def _publish(self, client: DurableMemoryClient) -> None:
        for _ in range(self._random.choice(_BURSTS)):
            if client.publisher.is_full:
                return
            k, timeout = self._random.randrange(KEYS), self._random.choice(_TIMEOUTS)
            number = client.publisher.next
            self._record(PublishEvent(self._memory.now, client.name, number, {"k": k}, timeout))
            client.publish_durable({"k": k}, f"{client.name} {number}".encode(), timeout)

    # --- the end

    def _heal(self) -> None:
        """End all faults, and let the rest be delivered."""
        memory, self._is_over = self._memory, True
        for each in self._subscribers:
            each.is_patient = True
        self._driver.end_all()
        for disk in (host.disk for host in memory.hosts.values() if host.disk is not None):
            disk.delay = _DISK_DELAYS[0]
        self._record(HealEvent(memory.now))
        if self._plan.has_plain:
            memory.run(_RECOVERY)  # since then, plain subscribers miss nothing
            for client in self._publishers:
                self._publish(client)
        end = memory.now + _QUIET
        is_idle = was_idle = False
        while memory.now < end and not (is_idle and was_idle):
            received = self._received
            memory.run(_STEP)
            is_reading = bool(self._plan.logs) and self._received > received
            is_idle, was_idle = not is_reading and self._is_idle(), is_idle

    @property
    def _received(self) -> int:
        return sum(each.received for each in self._subscribers)

    def _record_logs(self) -> None:
        """Record the logs of routers."""
        for name, predicate in self._plan.logs.items():
            disk, state = self._memory.hosts[name].disk, self._memory.router(name).durable.history_status()
            assert disk is not None
            assert state is not None
            messages: list[tuple[int, str, int]] = []
            for entry in disk.entries(HISTORY_ID):
                if not is_note(entry):
                    publisher, number = decode(entry.content)[2].decode().split()
                    messages.append((entry.offset, publisher, int(number)))
            self._record(KeptEvent(self._memory.now, name, predicate, state.first, messages))

    def _is_idle(self) -> bool:
        """Return whether all messages are answered, delivered and acknowledged."""
        return not any(self._waiting().values()) and not any(len(each.publisher) for each in self._publishers)

    def _waiting(self) -> dict[str, int]:
        homes = (self._memory.router(home) for home in self._plan.homes)
        reports = (each for home in homes for each in home.durable.report(0, None).subscriptions)
        return {each.name: each.messages for each in reports}
