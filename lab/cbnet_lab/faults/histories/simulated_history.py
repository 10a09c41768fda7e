"""A random history in simulated time: durable publishers and subscribers of a small network, under faults.

Subscriptions are also made meanwhile; in some histories they begin in the past, or there are plain subscribers. Some
publishers try to pass for others. Then all is mended, and the rest is delivered. All of it follows from the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, TypeAlias

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
from cbnet_lab.faults.histories.history import (
    BeginEvent,
    EndEvent,
    Event,
    FaultEvent,
    HealEvent,
    KeptEvent,
    PublishEvent,
    ReceiptEvent,
    outcome_of,
)
from cbnet_lab.faults.histories.simulated_faults import SimulatedFaults
from cbnet_lab.faults.histories.simulated_subscribers import LOGS, SimulatedSubscribers

KEYS = 5  # k is below
_SECONDS = (3.0, 6.0, 12.0, 40.0)  # with faults: many short histories find more than few long ones
_BURSTS = (1, 1, 2, 10)  # messages
_QUIET = 90.0  # seconds without faults at the end, at most
_STEP = 5.0  # seconds; the last one is without anything left to do
_SLACK = 0.5  # seconds: a tick, and the way to a client and back
_RECOVERY = 15.0  # seconds: a link is dead after some, then dialled again, and messages are sent again
_CONFIRM = 8.0  # seconds for subscriptions to be confirmed
_DISK_DELAYS = (0.001, 0.02, 0.3)  # seconds

_REPLAYED, _PLAIN = 0.25, 0.2  # of all histories: with subscriptions from the past, with plain subscribers
_MAX_PUBLISHERS = 4  # before no further one passes for another
_MAX_CLIENTS = 8  # subscribers, before further ones begin in the past
_LOG_LIMITS = (1_000_000, 1_000_000, 10)  # messages

NewDisk: TypeAlias = Callable[..., MemoryDisk]


class SimulatedHistory:
    """One random run."""

    def __init__(self, seed: int, routing: Routing, *, disk: NewDisk = MemoryDisk) -> None:
        """Build the network of a seed; disk: creates the disks, for tests with others."""
        self.events: list[Event] = []
        self._random = random = Random(seed)
        self._memory = MemoryNetwork(seed, is_fast=random.random() < 0.3)
        self._names = [f"r{n}" for n in range(random.choice((1, 2, 3, 3, 4, 5)))]
        self._homes = random.sample(self._names, random.randint(1, min(3, len(self._names))))
        self._logs = self._choose_logs()
        self._build(routing, disk)
        self._subscribers = SimulatedSubscribers(self._memory, random, self._record, len(self._names))
        self._memory.run(5)
        self._record(BeginEvent(self._memory.now, len(self._names), _SLACK, _RECOVERY))
        self._publishers = [self._new_publisher(f"p{n}") for n in range(random.randint(1, 3))]
        self._taken: set[int] = set()  # lives for which publishers try to pass
        self._faults = SimulatedFaults(self._memory, random, self._record, self._publishers, self._subscribers.clients)
        self._pending = [partial(self._subscribers.subscribe_durable, home) for home in self._homes]
        self._has_plain = random.random() < _PLAIN
        if self._has_plain:
            self._pending += [partial(self._subscribers.subscribe_plain, random.choice(self._names)) for _ in range(2)]
        if random.random() < 0.8:  # else subscriptions are made under faults
            self._make_subscriptions()
            self._memory.run(_CONFIRM)

    def _choose_logs(self) -> dict[str, str]:
        """Return the predicate of what each router with a log keeps."""
        if self._random.random() >= _REPLAYED:
            return {}
        homes = self._random.sample(self._homes, self._random.randint(1, min(2, len(self._homes))))
        return {home: self._random.choice([*LOGS]) for home in homes}

    def _build(self, routing: Routing, disk: NewDisk) -> None:
        random, memory, names = self._random, self._memory, self._names
        for name in names:
            has_disk = name in self._homes or random.random() < 0.7
            own = disk(memory, delay=random.choice(_DISK_DELAYS)) if has_disk else None
            log: dict[str, Any] = {"history": self._logs.get(name, ""), "history_messages": random.choice(_LOG_LIMITS)}
            memory.add(Settings(name, **routing.settings, **log), disk=own)
        cables = [(names[random.randrange(n)], names[n]) for n in range(1, len(names))]
        for _ in range(random.randrange(3) if len(names) > 2 else 0):
            a, b = random.sample(names, 2)
            if (a, b) not in cables and (b, a) not in cables:
                cables.append((a, b))
        for a, b in cables:
            memory.add_cable(a, b)

    def _record(self, event: Event) -> None:
        self.events.append(event)

    # --- clients

    def _new_publisher(self, name: str) -> DurableMemoryClient:
        client = DurableMemoryClient(self._memory, name, self._random.choice(self._names))

        def answered(number: int, receipt: DurablePublished | None) -> None:
            now = self._memory.now
            if receipt is None:
                self._record(ReceiptEvent(now, name, number, "silent", 0))
            else:
                outcome, reason = outcome_of(receipt.silent, receipt.refused), "; ".join(receipt.refused)
                self._record(ReceiptEvent(now, name, number, outcome, receipt.subscriptions, reason))

        client.on_receipt = answered
        return client

    def _impersonate(self) -> None:
        """Add a publisher that gives, for its own number, the one that subscribers see of another."""
        lives = sorted(self._subscribers.lives - self._taken)
        if lives and len(self._publishers) < _MAX_PUBLISHERS:
            client = self._new_publisher(f"x{len(self._publishers)}")
            life = self._random.choice(lives)
            self._taken.add(life)
            client.publisher = DurablePublisher(life)
            self._publishers.append(client)
            self._record(FaultEvent(self._memory.now, client.name, "impersonate"))

    def _make_subscriptions(self) -> None:
        while self._pending:
            self._pending.pop()()

    def _subscribe_past(self) -> None:
        home = self._random.choice(sorted(self._logs))
        self._subscribers.subscribe_past(home, self._logs[home])

    # --- the schedule

    def run(self) -> list[Event]:
        """Run to the end; return the history."""
        end = self._memory.now + self._random.choice(_SECONDS)
        while self._memory.now < end:
            self._memory.run(self._random.expovariate(8))
            self._step()
        self._heal()
        self._record_logs()
        self._record(EndEvent(self._memory.now, self._waiting()))
        return self.events

    def _step(self) -> None:
        if self._logs and len(self._subscribers.clients) < _MAX_CLIENTS and self._random.random() < 0.06:
            self._subscribe_past()
        kind = self._random.random()
        if kind < 0.74:
            self._publish(self._random.choice(self._publishers))
        elif kind < 0.77:
            self._make_subscriptions()
        elif kind < 0.78:
            self._impersonate()
        elif kind < 0.88:
            self._faults.break_one()
        else:
            self._faults.mend_one()

    def _publish(self, client: DurableMemoryClient) -> None:
        for _ in range(self._random.choice(_BURSTS)):
            if client.publisher.is_full:
                return
            k, timeout = self._random.randrange(KEYS), self._random.choice((3.0, 10.0, 30.0))
            number = client.publisher.next
            self._record(PublishEvent(self._memory.now, client.name, number, {"k": k}, timeout))
            client.publish_durable({"k": k}, f"{client.name} {number}".encode(), timeout)

    def _heal(self) -> None:
        self._subscribers.is_quiet = True
        self._faults.mend_all()
        self._make_subscriptions()
        if self._logs:
            self._subscribe_past()
        self._record(HealEvent(self._memory.now))
        if self._has_plain:
            self._memory.run(_RECOVERY)  # since then, plain subscribers miss nothing
            for client in self._publishers:
                self._publish(client)
        end = self._memory.now + _QUIET
        is_idle = was_idle = False
        while self._memory.now < end and not (is_idle and was_idle):
            received = self._subscribers.received
            self._memory.run(_STEP)
            is_reading = bool(self._logs) and self._subscribers.received > received
            is_idle, was_idle = not is_reading and self._is_idle(), is_idle

    def _record_logs(self) -> None:
        """Record what the routers with a log have kept."""
        for name, predicate in self._logs.items():
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
        homes = (self._memory.router(home) for home in self._homes)
        reports = (each for home in homes for each in home.durable.report(0, None).subscriptions)
        return {each.name: each.messages for each in reports}
