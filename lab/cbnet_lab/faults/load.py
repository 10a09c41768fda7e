"""A client of a network in memory that records what it does and sees."""

from __future__ import annotations

from cbnet.language.message import Message
from cbnet.network.simulation.memory_client import MemoryClient, ReceivedMessage
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet_lab.faults.ground_truth import GroundTruth
from cbnet_lab.faults.record import PublishEvent, ReceiveEvent, Record, SubscribeEvent, UnsubscribeEvent


class RecordedClient(MemoryClient):
    """A client with plain subscriptions, which numbers its messages."""

    def __init__(self, memory: MemoryNetwork, name: str, router: str, record: Record, truth: GroundTruth) -> None:
        super().__init__(memory, name, router)
        self._record = record
        self._truth = truth
        self._published = 0
        self.on_delivery = self._delivered

    def subscription_name(self, id: int) -> str:
        """Return the name of a subscription in the record."""
        return f"{self.name}/{id}"

    def subscribe(self, id: int, predicate: str, wait: float = 0.0) -> None:
        """Subscribe, now and after each reconnection."""
        now, name = self._memory.now, self.subscription_name(id)
        self._record(SubscribeEvent(now, self.name, name, self.router, predicate, kind="plain"))
        super().subscribe(id, predicate, wait)

    def unsubscribe(self, id: int) -> None:
        """End a subscription."""
        self._record(UnsubscribeEvent(self._memory.now, self.subscription_name(id)))
        super().unsubscribe(id)

    def publish_message(self, message: Message) -> None:
        """Publish a message, which reaches nobody if the client is not connected."""
        self._published += 1
        reach = self._truth.reached(self.router) if self._truth.is_connected(self) else ()
        self._record(
            PublishEvent(self._memory.now, self.name, self._published, message.to_dict(), reach=frozenset(reach))
        )
        payload = f"{self.name} {self._published}".encode()
        self.publish(dict(message.attributes), payload, tuple(sorted(message.tags)))

    def _delivered(self, delivered: ReceivedMessage) -> None:
        publisher, number = delivered.payload.decode().split()
        name = self.subscription_name(delivered.subscription)
        self._record(ReceiveEvent(delivered.at, self.name, name, 0, 1, publisher, int(number)))
