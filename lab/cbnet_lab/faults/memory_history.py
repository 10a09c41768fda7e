"""A random history in simulated time: durable publishers and subscribers of a small network, under faults.

Some histories have subscriptions that start in the past, or plain subscribers, or a home group. Some publishers
impersonate others. At the end all faults are repaired, except that some routers were killed for good, and the remaining
messages are delivered. The seed determines all of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import cycle
from random import Random
from typing import Any, TypeAlias

from msgspec.msgpack import decode

from cbnet.network.client.durable.durable_publishing import DurablePublisher, Receipt
from cbnet.network.durable.histories.history import is_note
from cbnet.network.durable.home_log.journal import HISTORY_ID
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import (
    DurableLimits,
    DurableLost,
    DurablePublished,
    Frame,
    HistoryStart,
    Lost,
    RefusedFrame,
    Replaying,
    Subscribed,
)
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.router.router import Router
from cbnet.network.security.access import Access, Account
from cbnet.network.security.rights import Rights
from cbnet.network.security.tokens import new_token
from cbnet.network.simulation.memory_client import DurableMemoryClient, StoredMessage
from cbnet.network.simulation.memory_disk import MemoryDisk
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet.network.simulation.shared_disk import LeasedDisk, SharedDisk
from cbnet_lab.bench.plan_options import Routing
from cbnet_lab.faults import record
from cbnet_lab.faults.driver.driver import Fault, FaultDriver
from cbnet_lab.faults.driver.memory import MemoryFaults
from cbnet_lab.faults.history_plan import (
    BURSTS,
    DATABASE_AWAY,
    KEYS,
    KILL_FOR_GOOD,
    OTHER,
    OWN,
    HistoryPlan,
    PlannedSubscription,
)

AGAIN = "subscribe again"  # unacknowledged messages are delivered again
_ACK_WAIT = 3.0  # seconds
_WINDOWS = (1, 5, 100)
_ACKNOWLEDGED = {"durable": 0.9, "replay": 0.8}  # share of messages acknowledged at once
_BURSTS = (1, 1, 2, 10)  # messages
_TIMEOUTS = (3.0, 10.0, 30.0)  # seconds
_RATE = 6.0  # bursts per second, of all publishers
_QUIET = 90.0  # maximum time without faults at the end, in seconds
_STEP = 5.0  # seconds; in the last one nothing is left to do
_SLACK = 0.5  # seconds: a tick, and the round trip to a client
_RECOVERY = 15.0  # seconds: a dead link is detected, then dialled again, and messages are resent
_CONFIRM = 8.0  # seconds for subscriptions to be confirmed
_RETRY = 1.0  # seconds after which a subscription that cannot be written is tried again
_DISK_DELAYS = (0.001, 0.02, 0.3)  # seconds
_LOG_LIMITS = (1_000_000, 10)  # messages
_PATIENCE = 1.0  # seconds before a client without a connection tries another router
_ELSEWHERE = (ReasonCode.OTHER_HOME, ReasonCode.OTHER_HISTORY, ReasonCode.NO_HISTORY)

NewDisk: TypeAlias = Callable[..., MemoryDisk]


class MemoryPublisher(DurableMemoryClient):
    """A durable publisher."""

    def __init__(self, history: MemoryHistory, name: str, router: str) -> None:
        super().__init__(history.memory, name, router, token=history.tokens[OWN])
        self._history = history
        self.on_receipt = self._answered
        history.clients[name] = self

    def _answered(self, number: int, receipt: DurablePublished | None) -> None:
        answer = receipt or Receipt(0, 0, [self.router], [])
        self._history.record(record.receipt_event(self._memory.now, self.name, number, answer))

    def publish_later(self) -> None:
        """Publish bursts at random times, until the faults are over."""
        rate = _RATE / len(self._history.publishers)
        self._memory.after(self._history.random.expovariate(rate), self._publish_again)

    def _publish_again(self) -> None:
        if not self._history.is_over:
            self.publish_burst()
            self.publish_later()

    def publish_burst(self) -> None:
        """Publish a burst of messages."""
        random, now, first = self._history.random, self._memory.now, self.publisher.next
        timeout = random.choice(_TIMEOUTS)
        burst: list[tuple[dict[str, Any], bytes]] = []
        for number in range(first, min(first + random.choice(_BURSTS), self.publisher.end)):
            k = random.randrange(KEYS)
            self._history.record(record.PublishEvent(now, self.name, number, {"k": k}, timeout))
            burst.append(({"k": k}, f"{self.name} {number}".encode()))
        self.publish_run(burst, timeout)


class MemorySubscriber(DurableMemoryClient):
    """A client of a planned subscription."""

    def __init__(self, history: MemoryHistory, planned: PlannedSubscription, name: str) -> None:
        token = history.tokens[OTHER if planned.limit else OWN]
        self._routers = cycle(history.plan.routers_of(planned.home))
        super().__init__(history.memory, name, next(self._routers), token=token)
        self._history, self._planned = history, planned
        self._alone_at = ""  # router to which there was no connection at the last check
        self.at = planned.at  # seconds from the beginning
        self.on_answer = self._answered
        self.on_delivery = lambda delivered: self._record(0, 1, delivered.payload)
        self.acknowledges = self._stored
        history.clients[name] = self
        if planned.home in history.plan.groups:
            history.memory.every(_PATIENCE, self._seek)

    def begin(self) -> None:
        """Start the subscription."""
        planned, window = self._planned, self._history.random.choice(_WINDOWS)
        age = None if planned.age == record.FIRST else planned.age
        start = None if planned.age is None else HistoryStart(age=age)
        self._history.record(planned.event(self._memory.now, self.name, _ACK_WAIT))
        if planned.kind == "plain":
            self.subscribe(1, planned.predicate, wait=_CONFIRM)
        elif planned.kind == "replay" and start is not None:
            self.replay(1, planned.predicate, start, window=window)
        else:
            limits = DurableLimits(messages=planned.limit) if planned.limit else None
            self.subscribe_durable(
                1,
                planned.name,
                planned.predicate,
                wait=_CONFIRM,
                window=window,
                ack_wait=_ACK_WAIT,
                limits=limits,
                start=start,
            )

    def _seek(self) -> None:
        """Connect to another router of the home group if there has been no connection for some time."""
        is_alone = self.end is None and not self.is_disconnected and not self.is_frozen
        before, self._alone_at = self._alone_at, self.router if is_alone else ""
        if is_alone and before == self.router:
            self._alone_at = ""
            self.move(next(self._routers))

    def _answered(self, frame: Frame) -> None:
        """Record a frame other than a message; subscribe again until all routers have confirmed."""
        now, name = self._memory.now, self._planned.name
        if (
            isinstance(frame, RefusedFrame)
            and frame.code in _ELSEWHERE
            and self._planned.home in self._history.plan.groups
        ):
            self.move(next(self._routers))
        if isinstance(frame, Replaying):
            self._history.record(record.ReplayEvent(now, self.name, name, frame.first))
        elif isinstance(frame, Lost | DurableLost):
            self._history.record(record.LostEvent(now, self.name, name, frame.messages, frame.cause))
        elif isinstance(frame, Subscribed):
            if frame.is_confirmed:
                self._history.record(record.ConfirmEvent(now, name, frame.routers))
            is_complete = frame.is_confirmed and frame.routers == len(self._memory.hosts)
            if self._planned.kind == "durable" and not is_complete:
                self._memory.after(_CONFIRM, self._subscribe_again)
        elif isinstance(frame, RefusedFrame) and frame.code == ReasonCode.UNWRITABLE:  # a full disk
            self._memory.after(_RETRY, self._subscribe_again)

    def _subscribe_again(self) -> None:
        self._history.record(record.FaultEvent(self._memory.now, self.name, AGAIN))
        self.send(self.durable[1])

    def _stored(self, stored: StoredMessage) -> bool:
        """Record a message; return whether the client acknowledges it at once."""
        self._record(stored.offset, stored.deliveries, stored.payload)
        kind, history = self._planned.kind, self._history
        acknowledges = history.is_over or history.random.random() < _ACKNOWLEDGED[kind]
        if kind == "durable" and acknowledges:
            history.record(record.AcknowledgeEvent(self._memory.now, self.name, self._planned.name, stored.offset))
        elif not acknowledges and kind == "replay":
            self._memory.after(0.5, partial(self.acknowledge, 1, stored.offset))
        return acknowledges

    def _record(self, offset: int, deliveries: int, payload: bytes) -> None:
        name, now = self._planned.name, self._memory.now
        self._history.record(
            record.ReceiveEvent(now, self.name, name, offset, deliveries, *record.sender(payload), router=self.router)
        )


class MemoryHistory:
    """One random run."""

    def __init__(self, seed: int, routing: Routing, *, disk: NewDisk = MemoryDisk) -> None:
        """Build the network of a seed; disk: a factory of disks."""
        self.events: list[record.RunEvent] = []
        self.record = self.events.append
        self.plan = plan = HistoryPlan.in_memory(seed)
        self.random = random = Random(seed)
        self.memory = memory = MemoryNetwork(seed, is_fast=random.random() < 0.3)
        has_accounts = any(each.limit for each in plan.subscriptions)
        accounts = {name: new_token(name) for name in (OWN, OTHER)} if has_accounts else {}
        self.tokens = defaultdict(str, {name: each.token for name, each in accounts.items()})
        clients = {name: Account(Rights(), each.hash) for name, each in accounts.items()} if has_accounts else None
        groups = {home: [*routers] for home, routers in plan.groups.items()}
        begin = record.BeginEvent(
            memory.now, len(plan.routers), _SLACK, _RECOVERY, harmless=[AGAIN, BURSTS], groups=groups
        )
        self.record(begin)
        self._shared = {
            home: SharedDisk(memory, delay=random.choice(_DISK_DELAYS), on_taken=partial(self._taken_by, home))
            for home in plan.groups
        }
        limits: dict[str, int] = {}  # by home
        for name in plan.routers:
            home = plan.home_of(name)
            own: MemoryDisk | LeasedDisk | None = None
            if home in self._shared:
                own = LeasedDisk(memory, self._shared[home], name)
            elif plan.has_journals or name in plan.homes or random.random() < 0.7:
                own = disk(memory, delay=random.choice(_DISK_DELAYS))
            log, most = plan.logs.get(home, ""), random.choice(_LOG_LIMITS)
            most = limits.setdefault(home, most)
            settings = Settings(name, home=home, history=log, history_messages=most, **routing.settings)
            memory.add(settings, disk=own, access=Access(clients))
        for link in plan.links:
            memory.add_cable(*link)
        memory.run(5)
        self.clients: dict[str, DurableMemoryClient] = {}
        self.publishers = [MemoryPublisher(self, name, routers[0]) for name, routers in plan.publishers.items()]
        self._subscribers = [MemorySubscriber(self, each, name) for each in plan.subscriptions for name in each.clients]
        acts = {"move": self._move, "impersonate": self._impersonate, KILL_FOR_GOOD: self._kill_for_good,
                BURSTS: self._burst}  # fmt: skip
        self._faults = MemoryFaults(memory, self.clients, acts)
        self._driver = FaultDriver(self._faults, self.record, at_router=self._at_holder)
        self._dead: set[str] = set()  # routers that were killed for good
        self.is_over = False  # whether all faults are over
        self._taken: set[int] = set()  # incarnations that publishers impersonate

    def run(self) -> list[record.RunEvent]:
        """Run to the end; return the record."""
        memory, plan = self.memory, self.plan
        for each in self._subscribers:
            if each.at == 0:
                each.begin()
        memory.run(_CONFIRM)
        for each in self._subscribers:
            if each.at > 0:
                memory.after(each.at, each.begin)
        for publisher in self.publishers:
            publisher.publish_later()
        for fault in plan.faults:
            if fault.kind == "restored journal":
                memory.after(max(0.0, fault.at - fault.size), partial(self._faults.copy_journal, fault.of))
        self._driver.run(plan.faults, plan.seconds)
        self._heal()
        self._record_logs()
        self.record(record.EndEvent(memory.now, self._waiting()))
        return self.events

    def _taken_by(self, home: str, router: str) -> None:
        self.record(record.HoldEvent(self.memory.now, home, router))

    def _at_holder(self, fault: Fault) -> Fault:
        """Return a fault of the router that has taken a home last, for one of the home."""
        shared = self._shared.get(fault.of)
        return fault if shared is None or fault.kind == DATABASE_AWAY else replace(fault, of=shared.holder)

    def _alive(self) -> str:
        """Return a router that was not killed for good."""
        return self.random.choice([each for each in self.plan.routers if each not in self._dead])

    def _move(self, fault: Fault) -> bool:
        self.clients[fault.of].move(self._alive())
        return True

    def _burst(self, fault: Fault) -> bool:
        next(each for each in self.publishers if each.name == fault.of).publish_burst()
        return True

    def _kill_for_good(self, fault: Fault) -> bool:
        """Kill a router that does not come back; its publishers find another one."""
        if self.memory.hosts[fault.of].router is None:
            return False
        self._dead.add(fault.of)
        self.memory.kill(fault.of, silently=self.random.random() < 0.5)
        for publisher in self.publishers:
            self.memory.after(self.random.uniform(0.1, _PATIENCE), partial(self._leave_dead, publisher))
        return True

    def _leave_dead(self, publisher: MemoryPublisher) -> None:
        if publisher.router in self._dead:
            publisher.move(self._alive())

    def _impersonate(self, fault: Fault) -> bool:
        """Add a publisher that uses the incarnation of another, as seen by subscribers."""
        incarnations = {
            message.incarnation for each in self._subscribers for message in each.stored[-10:]
        } - self._taken
        if not incarnations or fault.of in self.clients:
            return False
        client, incarnation = MemoryPublisher(self, fault.of, self._alive()), min(incarnations)
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
        self.record(record.HealEvent(memory.now))
        if any(each.kind == "plain" for each in self.plan.subscriptions):
            memory.run(_RECOVERY)  # from then on, plain subscribers must not miss messages
            for publisher in self.publishers:
                publisher.publish_burst()
        end = memory.now + _QUIET
        is_idle = was_idle = False
        while memory.now < end and not (is_idle and was_idle):
            received = self._received
            memory.run(_STEP)
            is_reading = bool(self.plan.logs) and self._received > received
            is_idle, was_idle = not is_reading and self._is_idle(), is_idle

    @property
    def _received(self) -> int:
        return sum(len(each.stored) + len(each.deliveries) for each in self._subscribers)

    def _record_logs(self) -> None:
        """Record the logs of routers."""
        for name, predicate in self.plan.logs.items():
            holder = self._holder(name)
            disk = None if holder is None else self.memory.hosts[holder.settings.name].disk
            state = None if holder is None else holder.durable.history_status()
            if disk is None or state is None:
                continue  # nobody holds the home, which is a finding
            kept = ((offset, each) for offset, each in disk.entries(HISTORY_ID).items() if not is_note(each))
            messages = [(offset, *record.sender(decode(each.content)[2])) for offset, each in kept]
            self.record(record.KeptEvent(self.memory.now, name, predicate, state.first, messages))

    def _is_idle(self) -> bool:
        """Return whether all messages are answered, delivered and acknowledged."""
        return not any(self._waiting().values()) and not any(len(each.publisher) for each in self.publishers)

    def _waiting(self) -> dict[str, int]:
        waiting: dict[str, int] = {}
        for home in self.plan.homes:
            holder = self._holder(home)
            if holder is None:
                waiting[f"home {home}, which nobody holds"] = 1
            else:
                waiting |= {each.saved.name: each.cursor.messages for each in holder.durable.registry.all(None)}
        return waiting

    def _holder(self, home: str) -> Router | None:
        """Return the router that holds a home."""
        running = (self.memory.hosts[name].router for name in self.plan.routers_of(home))
        return next((each for each in running if each is not None and each.durable.is_holder), None)
