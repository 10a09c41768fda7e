"""A history over real processes: routers with SQLite journals, relays on their links, and clients over TCP.

The seed decides the network, the clients and the faults, each with its time; how processes are scheduled is up to
the machine, so a history cannot be repeated exactly.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Any, Final

from cbnet.errors import CbnetError
from cbnet.lab.bench.histories.history import (
    Acknowledge,
    Begin,
    Confirm,
    End,
    Event,
    Fault,
    Heal,
    Publish,
    Receipt,
    Receive,
    Subscribe,
    outcome_of,
)
from cbnet.lab.bench.histories.process_faults import ProcessFaults
from cbnet.lab.bench.histories.process_plan import SECONDS, PlannedFault, PlannedSubscription, ProcessPlan
from cbnet.lab.bench.network.relay import Relay
from cbnet.lab.bench.routing import Routing
from cbnet.network import NotStored, ProcessNetwork, Refused, Settings
from cbnet.network.client.async_client import AsyncClient, connect_async
from cbnet.network.client.async_subscription import AsyncSubscription
from cbnet.network.client.client_events import ClientEvent
from cbnet.network.client.durable_delivery import DurableDelivery
from cbnet.network.client.durable_publishing import Receipt as ClientReceipt

_QUICK: Final[dict[str, Any]] = {"heartbeat": 0.5, "dead": 2.5, "retry": 0.5}
_SLACK = 4.0  # seconds: all processes may share a busy processor
_RECOVERY = 20.0  # seconds
_ACK_WAIT = 8.0  # seconds
_TIMEOUTS = (3.0, 10.0, 30.0)  # seconds, of publishers
_START = 30.0  # seconds for routers and clients to start
_DRAIN = 90.0  # seconds for the rest to be delivered
_LIMIT = 300.0  # seconds of a history
_BATCHES = (1, 1, 5, 20)  # messages


def run_process_history(seed: int, routing: Routing) -> list[Event]:
    """Run the history of a seed; return its events."""
    plan = ProcessPlan.of(seed)
    with ExitStack() as stack:
        journals = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cbnet-history-")))
        settings = [Settings(name, **_QUICK, **routing.settings) for name in plan.routers]
        network = ProcessNetwork(settings, plan.links, journals=journals)
        stack.callback(network.close)
        relays = {(a, b): Relay(network.addresses[b]) for a, b in plan.links}
        for link, relay in relays.items():
            stack.callback(relay.close)
            network.relays[link] = relay.address
        network.start(*plan.routers)
        network.wait(_START)
        faults = ProcessFaults(network, {"-".join(link): each for link, each in relays.items()}, journals, seed)
        history = _ProcessHistory(plan, network, seed)
        asyncio.run(asyncio.wait_for(history.run(faults), _LIMIT))
        return history.events


class _ProcessHistory:
    """The clients of one history, and what they see."""

    def __init__(self, plan: ProcessPlan, network: ProcessNetwork, seed: int) -> None:
        self.events: list[Event] = []
        self._plan = plan
        self._network = network
        self._random = Random(f"clients {seed}")
        self._began = time.monotonic()
        self._is_over = False
        self._is_healed = False
        self._consumers: dict[str, tuple[AsyncClient, asyncio.Task[None]]] = {}

    @property
    def _now(self) -> float:
        return time.monotonic() - self._began

    def _fault(self, of: str, kind: str) -> None:
        self.events.append(Fault(self._now, of, kind))

    # --- course

    async def run(self, faults: ProcessFaults) -> None:
        """Run to the end."""
        self.events.append(Begin(self._now, len(self._plan.routers), _SLACK, _RECOVERY))
        try:
            for subscription in self._plan.subscriptions:
                for name in subscription.clients:
                    await self._join(name, subscription, wait=True)
            publishing = [asyncio.create_task(self._publish(*each)) for each in self._plan.publishers.items()]
            began = self._now
            await asyncio.gather(*(self._break(faults, each, began) for each in self._plan.faults))
            await asyncio.sleep(max(0.0, began + SECONDS - self._now))
            self._is_healed = True
            self.events.append(Heal(self._now))
            await asyncio.sleep(1.0)  # some messages are published when all is mended
            self._is_over = True
            await asyncio.gather(*publishing)
            await self._drain()
        finally:
            for client, task in self._consumers.values():
                task.cancel()
                await client.close()

    async def _break(self, faults: ProcessFaults, fault: PlannedFault, began: float) -> None:
        await asyncio.sleep(max(0.0, began + fault.at - self._now))
        self._fault(fault.of, fault.kind)
        if fault.kind == "leave":
            await self._leave(fault)
        else:
            await faults.begin(fault.kind, fault.of)
            await asyncio.sleep(fault.duration)
            await faults.end(fault.kind, fault.of)
        self._fault(fault.of, "free disk" if fault.kind == "full disk" else f"end of {fault.kind}")

    async def _leave(self, fault: PlannedFault) -> None:
        client, task = self._consumers.pop(fault.of)
        task.cancel()
        await client.close()
        await asyncio.sleep(fault.duration)
        (subscription,) = (each for each in self._plan.subscriptions if fault.of in each.clients)
        await self._join(fault.of, subscription, wait=False)

    async def _drain(self) -> None:
        """Wait until all is delivered and acknowledged; record what is left."""
        end = self._now + _DRAIN
        while any((waiting := await self._waiting()).values()) and self._now < end:
            await asyncio.sleep(0.5)
        for _, task in self._consumers.values():
            if task.done():
                task.result()  # raises what ended it
        self.events.append(End(self._now, waiting))

    async def _waiting(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for home in {each.home for each in self._plan.subscriptions}:
            async with await connect_async(str(self._network.addresses[home]), timeout=_START) as client:
                report = await client.durable_subscriptions()
                counts.update((each.name, each.messages) for each in report.subscriptions)
        return counts

    # --- subscribers

    async def _join(self, name: str, subscription: PlannedSubscription, *, wait: bool) -> None:
        client = self._client(name, [subscription.home])
        event = Subscribe(
            self._now, name, subscription.name, subscription.home, subscription.predicate, _ACK_WAIT
        )  # fmt: skip
        self.events.append(event)
        joined = await client.subscribe(
            subscription.predicate, durable=subscription.name, ack_wait=_ACK_WAIT, wait=wait, timeout=_START
        )
        if wait:
            self.events.append(Confirm(self._now, subscription.name, joined.confirmation.routers))
        self._consumers[name] = client, asyncio.create_task(self._consume(name, subscription.name, joined))

    def _client(self, name: str, routers: Sequence[str]) -> AsyncClient:
        client = AsyncClient([str(self._network.addresses[each]) for each in routers], name=name.replace(" ", "-"))

        def happened(event: ClientEvent) -> None:
            self._fault(name, str(event.kind))

        client.on_event = happened
        return client

    async def _consume(self, client: str, subscription: str, joined: AsyncSubscription) -> None:
        async for delivery in joined:
            assert isinstance(delivery, DurableDelivery)
            publisher, number = delivery.payload.decode().split()
            self.events.append(
                Receive(
                    at=self._now,
                    client=client,
                    subscription=subscription,
                    offset=delivery.offset,
                    deliveries=delivery.deliveries,
                    publisher=publisher,
                    number=int(number),
                )
            )
            if self._is_healed or self._random.random() < 0.95:
                delivery.acknowledge()
                self.events.append(Acknowledge(self._now, client, subscription, delivery.offset))

    # --- publishers

    async def _publish(self, name: str, routers: Sequence[str]) -> None:
        client = self._client(name, routers)
        random = Random(f"{name} of {self._random.random()}")
        number = 0
        try:
            while not self._is_over:
                timeout, count = random.choice(_TIMEOUTS), random.choice(_BATCHES)
                contents = [{"k": random.randrange(5)} for _ in range(count)]
                numbers = range(number + 1, number + 1 + count)
                number += count
                self.events += [
                    Publish(self._now, name, each, content, timeout)
                    for each, content in zip(numbers, contents, strict=True)
                ]
                payloads = [f"{name} {each}".encode() for each in numbers]
                receipts = await _receipts(client, contents, payloads, timeout)
                self.events += [self._receipt(name, *each) for each in zip(numbers, receipts, strict=True)]
                await asyncio.sleep(random.expovariate(20))
        finally:
            with suppress(CbnetError):
                await client.close()

    def _receipt(self, publisher: str, number: int, receipt: ClientReceipt) -> Receipt:
        outcome = outcome_of(receipt.silent, receipt.refused)
        return Receipt(self._now, publisher, number, outcome, receipt.subscriptions, "; ".join(receipt.refused))


async def _receipts(
    client: AsyncClient, contents: list[dict[str, int]], payloads: list[bytes], timeout: float
) -> list[ClientReceipt]:
    """Publish messages at once; return a receipt of each."""
    try:
        return await client.publish_durably(contents, payloads, timeout=timeout)
    except NotStored as error:
        return list(error.receipts)
    except Refused as error:
        return [ClientReceipt(0, 0, [], [str(error)])] * len(contents)
