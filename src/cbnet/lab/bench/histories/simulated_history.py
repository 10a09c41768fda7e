"""A random history in simulated time: durable publishers and subscribers of a small network, under faults.

Routers are killed, cables cut, clocks jump, disks are slow or full, clients leave, and publishers move to other
routers; subscriptions are also made meanwhile. Then all is mended, and the rest is delivered. All of it follows from
the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TypeAlias

from cbnet.lab.bench.histories.history import (
    AcknowledgeEvent,
    BeginEvent,
    ConfirmEvent,
    EndEvent,
    Event,
    FaultEvent,
    HealEvent,
    PublishEvent,
    ReceiptEvent,
    ReceiveEvent,
    SubscribeEvent,
    outcome_of,
)
from cbnet.lab.bench.routing import Routing
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import DurablePublished, Frame, Subscribed
from cbnet.network.simulation.durable_client import DurableMemoryClient, StoredMessage
from cbnet.network.simulation.memory_disk import MemoryDisk
from cbnet.network.simulation.memory_network import MemoryNetwork

PREDICATES = ("k >= 0", "k in (0, 2, 4)", "k < 2")
KEYS = 5  # k is below
_SECONDS = 40.0  # with faults
_QUIET = 90.0  # seconds without faults at the end, at most
_STEP = 10.0  # seconds; the last one is without anything left to do
_SLACK = 0.5  # seconds: a tick, and the way to a client and back
_RECOVERY = 15.0  # seconds: a link is dead after some, then dialled again, and messages are sent again
_ACK_WAIT = 3.0  # seconds
_CONFIRM = 8.0  # timeout of a confirmation, in seconds
_DISK_DELAYS = (0.001, 0.02, 0.3)  # seconds

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
        self._dead: set[str] = set()
        self._clients: list[DurableMemoryClient] = []  # subscribers
        self._build(routing, disk)
        self._memory.run(5)
        self._record(BeginEvent(self._memory.now, len(self._names), _SLACK, _RECOVERY))
        self._publishers = [self._new_publisher(f"p{n}") for n in range(random.randint(1, 3))]
        self._pending = [partial(self._subscribe_at, home) for home in self._homes]
        if random.random() < 0.7:  # else subscriptions are made under faults
            self._make_subscriptions()
            self._memory.run(_CONFIRM)

    def _build(self, routing: Routing, disk: NewDisk) -> None:
        random, memory, names = self._random, self._memory, self._names
        for name in names:
            has_disk = name in self._homes or random.random() < 0.7
            own = disk(memory, delay=random.choice(_DISK_DELAYS)) if has_disk else None
            memory.add(Settings(name, **routing.settings), disk=own)
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

    def _make_subscriptions(self) -> None:
        while self._pending:
            self._pending.pop()()

    def _subscribe_at(self, home: str) -> None:
        predicate = self._random.choice(PREDICATES)
        for n in range(self._random.randint(1, 2)):
            self._subscribe(f"c{n} at {home}", home, f"{predicate} at {home}", predicate)

    def _subscribe(self, name: str, home: str, subscription: str, predicate: str) -> None:
        client = DurableMemoryClient(self._memory, name, home)
        client.acknowledges = partial(self._received, name, subscription)

        def again() -> None:
            self._record(FaultEvent(self._memory.now, name, "subscribe again"))  # what waits is delivered again
            client.send(client.durable[1])

        def confirmed(frame: Frame) -> None:
            if not isinstance(frame, Subscribed):
                return
            if frame.is_confirmed:
                self._record(ConfirmEvent(self._memory.now, subscription, frame.routers))
            if not frame.is_confirmed or frame.routers < len(self._names):
                self._memory.after(_CONFIRM, again)

        client.on_answer = confirmed
        self._clients.append(client)
        self._record(SubscribeEvent(self._memory.now, name, subscription, home, predicate, _ACK_WAIT))
        window = self._random.choice((1, 5, 100))
        client.subscribe_durable(1, subscription, predicate, wait=_CONFIRM, window=window, ack_wait=_ACK_WAIT)

    def _received(self, client: str, subscription: str, stored: StoredMessage) -> bool:
        """Record a message; return whether the client acknowledges it."""
        publisher, number = stored.payload.decode().split()
        self._record(
            ReceiveEvent(
                at=self._memory.now,
                client=client,
                subscription=subscription,
                offset=stored.offset,
                deliveries=stored.deliveries,
                publisher=publisher,
                number=int(number),
            )
        )
        acknowledges = self._is_quiet or self._random.random() < 0.9
        if acknowledges:
            self._record(AcknowledgeEvent(self._memory.now, client, subscription, stored.offset))
        return acknowledges

    # --- the schedule

    _is_quiet = False

    def run(self, seconds: float = _SECONDS) -> list[Event]:
        """Run to the end; return the history."""
        end = self._memory.now + seconds
        while self._memory.now < end:
            self._memory.run(self._random.expovariate(8))
            self._step()
        self._heal()
        self._record(EndEvent(self._memory.now, self._waiting()))
        return self.events

    def _step(self) -> None:
        kind = self._random.random()
        if kind < 0.74:
            self._publish(self._random.choice(self._publishers))
        elif kind < 0.75:
            self._make_subscriptions()
        elif kind < 0.85:
            self._break()
        else:
            self._mend()

    def _publish(self, client: DurableMemoryClient) -> None:
        for _ in range(self._random.choice((1, 1, 5, 20))):
            if client.publisher.is_full:
                return
            k, timeout = self._random.randrange(KEYS), self._random.choice((3.0, 10.0, 30.0))
            number = client.publisher.next
            self._record(PublishEvent(self._memory.now, client.name, number, {"k": k}, timeout))
            client.publish_durable({"k": k}, f"{client.name} {number}".encode(), timeout)

    def _break(self) -> None:
        random = self._random
        random.choice(
            (
                self._kill,
                self._kill,
                self._kill,
                self._cut,
                self._move,
                self._jump,
                self._spoil_disk,
                partial(self._disconnect, self._clients),
                partial(self._disconnect, self._publishers),
            )
        )()

    def _kill(self) -> None:
        name = self._random.choice(self._names)
        if name not in self._dead:
            self._memory.kill(name, silently=self._random.random() < 0.3)
            self._dead.add(name)
            self._fault(name, "kill")

    def _cut(self) -> None:
        if cables := self._memory.cables(cut=False):
            ends = self._random.choice(cables)
            self._memory.cut(*ends, noticed_by=self._random.choice((None, ends[:1], ())))
            self._fault("-".join(ends), "cut")

    def _move(self) -> None:
        client = self._random.choice(self._publishers)
        client.move(self._random.choice(self._names))
        self._fault(client.name, "move")

    def _jump(self) -> None:
        name = self._random.choice(self._names)
        self._memory.jump_clock(name, self._random.choice((-100.0, -1.0, 1.0, 5.0, 100.0)))
        self._fault(name, "clock jump")

    def _spoil_disk(self) -> None:
        name = self._random.choice(self._names)
        disk = self._memory.hosts[name].disk
        if disk is not None:
            delay = self._random.choice((0.001, 0.1, 2.0))
            self._set_disk(name, disk, is_full=self._random.random() < 0.3, delay=delay)

    def _set_disk(self, name: str, disk: MemoryDisk, *, is_full: bool, delay: float) -> None:
        if disk.is_full != is_full:
            self._fault(name, "full disk" if is_full else "free disk")
        disk.is_full, disk.delay = is_full, delay

    def _disconnect(self, clients: list[DurableMemoryClient]) -> None:
        if clients:
            client = self._random.choice(clients)
            client.disconnect(silently=self._random.random() < 0.5)
            self._fault(client.name, "disconnect")

    def _fault(self, of: str, kind: str) -> None:
        self._record(FaultEvent(self._memory.now, of, kind))

    def _mend(self) -> None:
        kind = self._random.randrange(4)
        if kind == 0 and self._dead:
            self._start(self._random.choice(sorted(self._dead)))
        elif kind == 1 and (cables := self._memory.cables(cut=True)):
            self._memory.repair(*self._random.choice(cables))
        elif kind == 2:
            self._reconnect()
        else:
            self._restore_disks()

    def _start(self, name: str) -> None:
        self._dead.discard(name)
        self._memory.start(name)
        self._fault(name, "start")

    def _reconnect(self) -> None:
        for client in (*self._publishers, *self._clients):
            client.reconnect()

    def _restore_disks(self) -> None:
        for name, host in self._memory.hosts.items():
            if host.disk is not None:
                self._set_disk(name, host.disk, is_full=False, delay=0.01)

    def _heal(self) -> None:
        self._is_quiet = True
        for name in sorted(self._dead):
            self._start(name)
        for ends in self._memory.cables(cut=True):
            self._memory.repair(*ends)
        self._make_subscriptions()
        self._reconnect()
        self._restore_disks()
        self._record(HealEvent(self._memory.now))
        end = self._memory.now + _QUIET
        is_idle = was_idle = False
        while self._memory.now < end and not (is_idle and was_idle):
            self._memory.run(_STEP)
            is_idle, was_idle = self._is_idle(), is_idle

    def _is_idle(self) -> bool:
        """Return whether all messages are answered, delivered and acknowledged."""
        return not any(self._waiting().values()) and not any(len(each.publisher) for each in self._publishers)

    def _waiting(self) -> dict[str, int]:
        homes = (self._memory.router(home) for home in self._homes)
        reports = (each for home in homes for each in home.durable.report(0, None).subscriptions)
        return {each.name: each.messages for each in reports}
