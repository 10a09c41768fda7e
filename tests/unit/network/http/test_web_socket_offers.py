"""Requests to the holder behind a WebSocket: at most so many wait for its answers."""

import asyncio
from types import SimpleNamespace

from support.waiting import wait_until_async

from cbnet.language.message import Message
from cbnet.network.client.async_subscription import Confirmation
from cbnet.network.http.web_socket import _Offers


class Holder:
    """A client behind a WebSocket that offers everything, and the numbers of the requests that it got."""

    def __init__(self):
        self.numbers = []
        self.offers = _Offers(self, self.send)
        self.ask = None  # the handler of the requests

    async def send(self, members):
        self.numbers.append(members["number"])

    async def offer(self, _predicate, handler, **_):
        self.ask = handler
        return SimpleNamespace(confirmation=Confirmation(True, 1, []))


def test_a_web_socket_has_at_most_1000_requests_to_answer_and_further_ones_find_no_item():
    async def story():
        holder = Holder()
        await holder.offers.offer({"id": 1, "predicate": "true"})
        wanted = Message({"x": 1})
        asked = [asyncio.create_task(holder.ask(wanted)) for _ in range(1_000)]
        await wait_until_async(lambda: len(holder.numbers) == 1_000)
        async with asyncio.timeout(30):  # half of the time in which it may answer
            assert await holder.ask(wanted) is None
        assert len(holder.numbers) == 1_000
        await holder.offers.answer({"number": holder.numbers[0]})
        assert await asked[0] is None
        following = asyncio.create_task(holder.ask(wanted))
        await wait_until_async(lambda: len(holder.numbers) == 1_001)
        await holder.offers.answer({"number": holder.numbers[-1], "message": {"x": 1}, "payload": "p"})
        item = await following
        assert (item.message, item.payload) == (wanted, b"p")
        for task in asked:
            task.cancel()

    asyncio.run(story())
