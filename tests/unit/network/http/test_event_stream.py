"""Events of a stream: a loss is reported at its place between the messages."""

import asyncio
from types import SimpleNamespace

from cbnet.network.client.async_subscription import AsyncSubscription, Delivery
from cbnet.network.client.client_events import ClientEvent, EventKind
from cbnet.network.http.event_stream import LossReports, message_events, write_events


def test_a_loss_comes_after_the_messages_before_it_and_before_those_after():
    async def run():
        client = SimpleNamespace(router="a", on_event=None)
        subscription = AsyncSubscription(SimpleNamespace(link=SimpleNamespace(is_held=False)), 1, "true", 10, "block")
        losses = LossReports(client)
        sent = []

        async def send(message):
            sent.extend(
                line for line in message.get("body", b"").decode().splitlines() if line.startswith(("event", "id"))
            )

        def lose(text):
            client.on_event(ClientEvent(EventKind.LOST, "a", text, 1))

        def put(*numbers):
            subscription.put([Delivery({}, b"", "a", ("a", 1, number)) for number in numbers])

        lose("before the subscription")
        losses.subscription = subscription
        put(1, 2)
        lose("between")
        put(3)
        lose("at the end")
        lose("twice")
        subscription.end()
        await write_events(message_events(client, subscription, losses), send)
        return sent

    lost = "event: lost"
    assert asyncio.run(run()) == [
        "event: subscribed", lost, "id: a:1:1", "id: a:1:2", lost, "id: a:1:3", lost, lost,
    ]  # fmt: skip
