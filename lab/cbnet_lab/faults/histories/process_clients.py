"""Publishers and subscribers of a history over real processes, each in a thread, with all they do recorded."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from random import Random

from cbnet.network import Client, Delivery, NotConnected, NotStored, Refused, connect
from cbnet.network.client.async_subscription import DurableDelivery
from cbnet.network.client.blocking_client import Subscription
from cbnet.network.client.durable_publishing import Receipt
from cbnet_lab.faults import record
from cbnet_lab.faults.histories.plan import KEYS, PlannedSubscription

_ACK_WAIT = 8.0  # seconds
_TIMEOUTS = (3.0, 10.0, 30.0)  # seconds, of publishers
_BATCHES = (1, 1, 5, 20)  # messages
_RATE = 20.0  # batches per second, at most
_POLL = 0.1  # seconds
_CONNECT = 60.0  # seconds


class HistoryLog(list[record.Event]):
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

    def __init__(self, log: HistoryLog, name: str, addresses: Sequence[str], seed: int) -> None:
        self.log = log
        self.name = name
        self.is_over = threading.Event()
        self.random = Random(f"{seed} {name}")
        self._addresses = addresses

    def connect(self) -> Client:
        """Connect, retrying while the router does not run, and record interruptions of the connection."""
        end = time.monotonic() + _CONNECT
        while True:
            try:
                client = connect(self._addresses, name=self.name.replace(" ", "-"), timeout=_CONNECT)
                break
            except NotConnected:
                if time.monotonic() >= end:
                    raise
                time.sleep(_POLL)
        client.on_event = lambda event: self.log.append(record.FaultEvent(self.log.now, self.name, str(event.kind)))
        return client


class HistorySubscriber(HistoryClient):
    """A client of a durable subscription, or of one that starts with the log; it leaves and returns."""

    def __init__(self, log: HistoryLog, name: str, address: str, planned: PlannedSubscription, seed: int) -> None:
        super().__init__(log, name, [address], seed)
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

    def _join(self, client: Client) -> Subscription:
        planned, log = self.planned, self.log
        log.append(planned.event(log.now, self.name, _ACK_WAIT))
        wait = not self.confirmed.is_set()
        joined = client.subscribe(
            planned.predicate,
            durable=planned.name if self.is_durable else "",
            since=None if self.is_durable else self.last + 1,
            ack_wait=_ACK_WAIT if self.is_durable else None,
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
