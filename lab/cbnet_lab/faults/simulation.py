"""A network in memory under faults, with recorded clients, checked while it runs."""

from __future__ import annotations

from collections.abc import Mapping

from cbnet.language.message import Message
from cbnet.network.simulation.memory_client import MemoryClient, ReceivedMessage
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet_lab.faults import record
from cbnet_lab.faults.check.checker import Checker
from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.driver.driver import FaultDriver
from cbnet_lab.faults.driver.memory import Act, MemoryFaults
from cbnet_lab.faults.ground_truth import GroundTruth


class Simulation:
    """A run of a network in memory, which is not settled at first."""

    def __init__(self, memory: MemoryNetwork, begin: record.BeginEvent, acts: Mapping[str, Act] | None = None) -> None:
        """Initialise; acts: further kinds of faults, such as changes of subscriptions."""
        self.memory = memory
        self.clients: dict[str, RecordedClient] = {}
        self.truth = GroundTruth(memory, self.clients)
        self.checker = Checker(begin)
        self.driver = FaultDriver(MemoryFaults(memory, self.clients, acts or {}), self.record)
        self.record(record.FaultEvent(0.0, "network", "start"))

    def record(self, event: record.Event) -> None:
        """Record and check an event."""
        self.checker.add(event)

    def end(self) -> Findings:
        """Return the findings of the whole run."""
        self.record(record.EndEvent(self.memory.now, {}))
        return self.checker.end()


class RecordedClient(MemoryClient):
    """A client with plain subscriptions, which numbers its messages."""

    def __init__(self, run: Simulation, name: str, router: str) -> None:
        super().__init__(run.memory, name, router)
        self._run = run
        self._published = 0
        self.on_delivery = self._delivered
        run.clients[name] = self

    def subscription_name(self, id: int) -> str:
        """Return the name of a subscription in the record."""
        return f"{self.name}/{id}"

    def subscribe(self, id: int, predicate: str, wait: float = 0.0) -> None:
        """Subscribe, now and after each reconnection."""
        now, name = self._memory.now, self.subscription_name(id)
        self._run.record(record.SubscribeEvent(now, self.name, name, self.router, predicate, kind="plain"))
        super().subscribe(id, predicate, wait)

    def unsubscribe(self, id: int) -> None:
        """End a subscription."""
        self._run.record(record.UnsubscribeEvent(self._memory.now, self.subscription_name(id)))
        super().unsubscribe(id)

    def publish_message(self, message: Message) -> None:
        """Publish a message, which reaches nobody if the client is not connected."""
        self._published += 1
        truth, now = self._run.truth, self._memory.now
        reach = frozenset(truth.reached(self.router) if truth.is_connected(self) else ())
        self._run.record(record.PublishEvent(now, self.name, self._published, message.to_dict(), reach=reach))
        payload = f"{self.name} {self._published}".encode()
        self.publish(dict(message.attributes), payload, tuple(sorted(message.tags)))

    def _delivered(self, delivered: ReceivedMessage) -> None:
        name = self.subscription_name(delivered.subscription)
        self._run.record(record.ReceiveEvent(delivered.at, self.name, name, 0, 1, *record.sender(delivered.payload)))
