"""A random history in simulated time: durable publishers and subscribers of a small network, under faults.

Some histories have subscriptions that start in the past, or plain subscribers. Some publishers impersonate others. At
the end all faults are repaired, and the remaining messages are delivered. The seed determines all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from msgspec.msgpack import decode

from cbnet.network.client.durable_publishing import DurablePublisher
from cbnet.network.durable.history.history import is_note
from cbnet.network.durable.journal import HISTORY_ID
from cbnet.network.link.settings import Settings
from cbnet.network.simulation.durable_client import DurableMemoryClient
from cbnet.network.simulation.memory_disk import MemoryDisk
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet_lab.bench.routing import Routing
from cbnet_lab.faults.driver.driver import Fault, FaultDriver
from cbnet_lab.faults.driver.memory import MemoryFaults
from cbnet_lab.faults.histories.memory_clients import AGAIN, MemoryPublisher, MemorySubscriber
from cbnet_lab.faults.histories.plan import HistoryPlan
from cbnet_lab.faults.record import BeginEvent, EndEvent, Event, HealEvent, KeptEvent, sender

_QUIET = 90.0  # maximum time without faults at the end, in seconds
_STEP = 5.0  # seconds; in the last one nothing is left to do
_SLACK = 0.5  # seconds: a tick, and the round trip to a client
_RECOVERY = 15.0  # seconds: a dead link is detected, then dialled again, and messages are resent
_CONFIRM = 8.0  # seconds for subscriptions to be confirmed
_DISK_DELAYS = (0.001, 0.02, 0.3)  # seconds
_LOG_LIMITS = (1_000_000, 10)  # messages

NewDisk: TypeAlias = Callable[..., MemoryDisk]


class MemoryHistory:
    """One random run."""

    def __init__(self, seed: int, routing: Routing, *, disk: NewDisk = MemoryDisk) -> None:
        """Build the network of a seed; disk: a factory of disks."""
        self.events: list[Event] = []
        self.record = self.events.append
        self._plan = plan = HistoryPlan.in_memory(seed)
        self.random = random = Random(seed)
        self.memory = memory = MemoryNetwork(seed, is_fast=random.random() < 0.3)
        for name in plan.routers:
            has_disk = name in plan.homes or random.random() < 0.7
            own = disk(memory, delay=random.choice(_DISK_DELAYS)) if has_disk else None
            log, most = plan.logs.get(name, ""), random.choice(_LOG_LIMITS)
            memory.add(Settings(name, history=log, history_messages=most, **routing.settings), disk=own)
        for link in plan.links:
            memory.add_cable(*link)
        memory.run(5)
        self.record(BeginEvent(memory.now, len(plan.routers), _SLACK, _RECOVERY, harmless=[AGAIN]))
        self.clients: dict[str, DurableMemoryClient] = {}
        self.publishers = [MemoryPublisher(self, name, routers[0]) for name, routers in plan.publishers.items()]
        self._subscribers = [MemorySubscriber(self, each, name) for each in plan.subscriptions for name in each.clients]
        acts = {"move": self._move, "impersonate": self._impersonate}
        self._driver = FaultDriver(MemoryFaults(memory, self.clients, acts), self.record)
        self.is_over = False  # whether all faults are over
        self._taken: set[int] = set()  # incarnations that publishers impersonate

    def run(self) -> list[Event]:
        """Run to the end; return the record."""
        memory, plan = self.memory, self._plan
        for each in self._subscribers:
            if each.at == 0:
                each.begin()
        memory.run(_CONFIRM)
        for each in self._subscribers:
            if each.at > 0:
                memory.after(each.at, each.begin)
        for publisher in self.publishers:
            publisher.publish_later()
        self._driver.run(plan.faults, plan.seconds)
        self._heal()
        self._record_logs()
        self.record(EndEvent(memory.now, self._waiting()))
        return self.events

    def _move(self, fault: Fault) -> bool:
        self.clients[fault.of].move(self.random.choice(self._plan.routers))
        return True

    def _impersonate(self, fault: Fault) -> bool:
        """Add a publisher that uses the incarnation of another, as seen by subscribers."""
        incarnations = {
            message.incarnation for each in self._subscribers for message in each.stored[-10:]
        } - self._taken
        if not incarnations or fault.of in self.clients:
            return False
        client, incarnation = MemoryPublisher(self, fault.of, self.random.choice(self._plan.routers)), min(incarnations)
        self._taken.add(incarnation)
        client.publisher = DurablePublisher(incarnation)
        self.publishers.append(client)
        client.publish_later()
        return True

    # --- the end

    def _heal(self) -> None:
        """End all faults, and wait until the remaining messages are delivered."""
        memory, self.is_over = self.memory, True
        self._driver.end_all()
        for disk in (host.disk for host in memory.hosts.values() if host.disk is not None):
            disk.delay = _DISK_DELAYS[0]
        self.record(HealEvent(memory.now))
        if self._plan.has_plain:
            memory.run(_RECOVERY)  # from then on, plain subscribers must not miss messages
            for publisher in self.publishers:
                publisher.publish_burst()
        end = memory.now + _QUIET
        is_idle = was_idle = False
        while memory.now < end and not (is_idle and was_idle):
            received = self._received
            memory.run(_STEP)
            is_reading = bool(self._plan.logs) and self._received > received
            is_idle, was_idle = not is_reading and self._is_idle(), is_idle

    @property
    def _received(self) -> int:
        return sum(len(each.stored) + len(each.deliveries) for each in self._subscribers)

    def _record_logs(self) -> None:
        """Record the logs of routers."""
        for name, predicate in self._plan.logs.items():
            disk, state = self.memory.hosts[name].disk, self.memory.router(name).durable.history_status()
            assert disk is not None
            assert state is not None
            entries = [each for each in disk.entries(HISTORY_ID) if not is_note(each)]
            messages = [(each.offset, *sender(decode(each.content)[2])) for each in entries]
            self.record(KeptEvent(self.memory.now, name, predicate, state.first, messages))

    def _is_idle(self) -> bool:
        """Return whether all messages are answered, delivered and acknowledged."""
        return not any(self._waiting().values()) and not any(len(each.publisher) for each in self.publishers)

    def _waiting(self) -> dict[str, int]:
        homes = (self.memory.router(home) for home in self._plan.homes)
        reports = (each for home in homes for each in home.durable.report(0, None).subscriptions)
        return {each.name: each.messages for each in reports}
