"""Publishers and subscribers of a history over real processes: threads that record what they do and see."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from cbnet.errors import CbnetError
from cbnet.network import Client, Delivery, NotConnected, NotStored, Refused, connect
from cbnet.network.client.blocking.subscription import Subscription
from cbnet.network.client.durable.durable_delivery import DurableDelivery
from cbnet.network.client.durable.durable_publishing import Receipt
from cbnet_lab.faults.histories.history import (
    FIRST,
    AcknowledgeEvent,
    ConfirmEvent,
    Event,
    FaultEvent,
    PublishEvent,
    ReceiptEvent,
    ReceiveEvent,
    ReplayEvent,
    SubscribeEvent,
    outcome_of,
)
from cbnet_lab.faults.histories.process_plan import PlannedSubscription

ACK_WAIT: Final = 8.0  # seconds
_TIMEOUTS = (3.0, 10.0, 30.0)  # seconds, of publishers
_BATCHES = (1, 1, 5, 20)  # messages
_RATE = 20.0  # batches per second, at most
_POLL = 0.1  # seconds
_CONNECT = 60.0  # seconds


class HistoryLog:
    """The events of a history, of all threads."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._began = time.monotonic()

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began

    def fault(self, of: str, kind: str) -> None:
        """Record a fault, or the end of one."""
        self.events.append(FaultEvent(self.now, of, kind))


class HistoryThread(threading.Thread, ABC):
    """A client in a thread; `result` raises the error that ended it."""

    def __init__(self, log: HistoryLog, name: str, addresses: Sequence[str]) -> None:
        super().__init__(daemon=True, name=f"cbnet-{name}")
        self.log = log
        self.client_name = name
        self.is_over = threading.Event()
        self._addresses = addresses
        self._error: CbnetError | None = None

    def run(self) -> None:
        """Run the client until it is over."""
        try:
            self.work()
        except CbnetError as error:
            self._error = error

    @abstractmethod
    def work(self) -> None:
        """Publish or receive."""

    def result(self, timeout: float) -> None:
        """Wait for the end."""
        self.join(timeout)
        if self.is_alive():
            raise CbnetError(f"client {self.client_name} did not end in {timeout:g} s")
        if self._error is not None:
            raise CbnetError(f"client {self.client_name}: {self._error}")

    def connect(self) -> Client:
        """Connect, also while the router is away, and record interruptions of the connection."""
        end = time.monotonic() + _CONNECT
        while True:
            try:
                client = connect(self._addresses, name=self.client_name.replace(" ", "-"), timeout=_CONNECT)
                break
            except NotConnected:
                if time.monotonic() >= end:
                    raise
                time.sleep(_POLL)
        client.on_event = lambda event: self.log.fault(self.client_name, str(event.kind))
        return client


class HistorySubscriber(HistoryThread):
    """A client of a durable subscription, or of one that begins with the log; it leaves and returns."""

    def __init__(
        self, log: HistoryLog, name: str, address: str, subscription: PlannedSubscription, seed: str
    ) -> None:  # fmt: skip
        super().__init__(log, name, [address])
        self.subscription = subscription
        self._random = Random(f"{seed} {name}")
        self.confirmed = threading.Event()
        self.is_away = threading.Event()
        self.is_patient = threading.Event()  # acknowledges everything
        self.last = 0  # offset that it has received

    def work(self) -> None:
        """Receive messages until it is over."""
        while not self.is_over.is_set():
            if self.is_away.is_set():
                time.sleep(_POLL)
                continue
            with self.connect() as client:
                self._receive(self._join(client))

    def _join(self, client: Client) -> Subscription:
        planned, log = self.subscription, self.log
        log.events.append(
            SubscribeEvent(
                at=log.now,
                client=self.client_name,
                subscription=planned.name,
                home=planned.home,
                predicate=planned.predicate,
                ack_wait=ACK_WAIT,
                kind="durable" if planned.is_durable else "replay",
                age=None if planned.is_durable else FIRST,
            )
        )
        wait = not self.confirmed.is_set()
        joined = client.subscribe(
            planned.predicate,
            durable=planned.name if planned.is_durable else "",
            since=None if planned.is_durable else self.last + 1,
            ack_wait=ACK_WAIT if planned.is_durable else None,
            wait=wait,
            timeout=_CONNECT,
        )
        if joined.history is not None:
            log.events.append(ReplayEvent(log.now, self.client_name, planned.name, joined.history.first))
        if wait:
            log.events.append(ConfirmEvent(log.now, planned.name, joined.confirmation.routers))
            self.confirmed.set()
        return joined

    def _receive(self, joined: Subscription) -> None:
        while not (self.is_over.is_set() or self.is_away.is_set()):
            for delivery in joined.take(timeout=_POLL):
                self._record(delivery)

    def _record(self, delivery: Delivery) -> None:
        assert isinstance(delivery, DurableDelivery)
        log, name = self.log, self.subscription.name
        publisher, number = delivery.payload.decode().split()
        log.events.append(
            ReceiveEvent(
                at=log.now,
                client=self.client_name,
                subscription=name,
                offset=delivery.offset,
                deliveries=delivery.deliveries,
                publisher=publisher,
                number=int(number),
            )
        )
        self.last = delivery.offset
        if not self.subscription.is_durable:
            return
        if self.is_patient.is_set() or self._random.random() < 0.95:
            delivery.acknowledge()
            log.events.append(AcknowledgeEvent(log.now, self.client_name, name, delivery.offset))


class HistoryPublisher(HistoryThread):
    """A durable publisher."""

    def __init__(self, log: HistoryLog, name: str, addresses: Sequence[str], seed: str) -> None:
        super().__init__(log, name, addresses)
        self._random = Random(f"{seed} {name}")
        self._last = 0

    def work(self) -> None:
        """Publish until it is over, and wait for all receipts."""
        with self.connect() as client:
            while not self.is_over.is_set():
                self._publish(client, self._random.choice(_BATCHES), self._random.choice(_TIMEOUTS))
                time.sleep(self._random.expovariate(_RATE))

    def _publish(self, client: Client, count: int, timeout: float) -> None:
        log, name = self.log, self.client_name
        numbers = range(self._last + 1, self._last + 1 + count)
        self._last += count
        contents = [{"k": self._random.randrange(5)} for _ in numbers]
        for number, content in zip(numbers, contents, strict=True):
            log.events.append(PublishEvent(log.now, name, number, content, timeout))
        payloads = [f"{name} {number}".encode() for number in numbers]
        receipts = _receipts(lambda: client.publish_durably(contents, payloads, timeout=timeout), count)
        for number, receipt in zip(numbers, receipts, strict=True):
            outcome, reason = outcome_of(receipt.silent, receipt.refused), "; ".join(receipt.refused)
            log.events.append(ReceiptEvent(log.now, name, number, outcome, receipt.subscriptions, reason))


def _receipts(publish: Callable[[], list[Receipt]], count: int) -> list[Receipt]:
    """Return the receipts of messages, also if they are not stored."""
    try:
        return publish()
    except NotStored as error:
        return list(error.receipts)
    except NotConnected as error:
        return [Receipt(0, 0, [str(error)], [])] * count
    except Refused as error:
        return [Receipt(0, 0, [], [str(error)])] * count
