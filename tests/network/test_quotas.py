"""Quotas of clients: what happens at each limit, and how it is recorded."""

import asyncio
import json
import time

import pytest
from support.waiting import wait_until_async

from cbnet.network import Settings, connect_async
from cbnet.network.errors import Refused
from cbnet.network.logs import open_audit_log, use_audit_log
from cbnet.network.protocol.addresses import Address
from cbnet.network.security.access import Access, Account, SecurityPolicy
from cbnet.network.security.rights import read_rights
from cbnet.network.security.tokens import new_token
from cbnet.network.transport.event_loop import run
from cbnet.network.transport.tcp_router import TcpRouter

TOKENS = {name: new_token(name) for name in ("limited", "free")}
EVERYTHING = {"publish": "true", "subscribe": "true", "offer": "true"}


class Quotas:
    """A router with a client that has quotas, and one that has none."""

    def __init__(self, journal=None, **quotas):
        self._journal = journal
        rights = {"limited": {**EVERYTHING, **quotas}, "free": EVERYTHING}
        accounts = {name: Account(read_rights(rights[name], name), TOKENS[name].hash) for name in rights}
        self._security = SecurityPolicy(Access(accounts, frozenset()))

    async def __aenter__(self):
        settings = Settings("a", history="x > 0" if self._journal else "")
        self.router = TcpRouter(settings, Address("127.0.0.1", 0), {}, self._security, journal=self._journal)
        await self.router.start()
        return self

    async def __aexit__(self, *_):
        await self.router.stop()

    def connect(self, name="limited"):
        return connect_async(str(self.router.address), token=TOKENS[name].token)


async def seconds_for(client, messages, size=0):
    """Return how long it takes until the router has handled messages of a client."""
    began = time.monotonic()
    await client.publish_many([{"x": n} for n in range(messages)], [b"." * size] * messages, timeout=60)
    await client.status(timeout=60)
    return time.monotonic() - began


@pytest.mark.parametrize(
    ("quota", "messages", "size"),
    # a second is in reserve, so that three times the rate takes two seconds
    [({"messages_per_second": 500}, 1_500, 0), ({"bytes_per_second": 200_000}, 60, 10_000)],
)
def test_client_above_its_rate_is_slowed_down_and_loses_nothing(quota, messages, size):
    async def story():
        async with Quotas(**quota) as quotas, await quotas.connect() as limited, await quotas.connect("free") as free:
            subscription = await free.subscribe("x >= 0", wait=True, queue=10_000)
            slow = asyncio.ensure_future(seconds_for(limited, messages, size))
            await asyncio.sleep(0.2)
            fast = await seconds_for(free, messages, size)
            took = await slow
            await wait_until_async(lambda: len(subscription) == 2 * messages)
            assert limited.reconnects == free.reconnects == 0
            assert [each.message["x"] for each in await subscription.take()].count(7) == 2
            return took, fast

    took, fast = run(story())
    assert took > 1.7
    assert fast < took


def test_nested_messages_have_the_same_rate():
    async def story():
        async with Quotas(messages_per_second=100) as quotas, await quotas.connect() as limited:
            began = time.monotonic()
            await limited.publish_many([{"x": {"y": n}} for n in range(200)])
            await limited.status(timeout=60)
            return time.monotonic() - began

    assert run(story()) > 0.8


def test_links_of_a_client_share_its_rate():
    async def story():
        async with Quotas(messages_per_second=500) as quotas:
            clients = [await quotas.connect() for _ in range(3)]
            took = await asyncio.gather(*(seconds_for(client, 500) for client in clients))
            for client in clients:
                await client.close()
            return max(took)

    assert run(story()) > 1.7


def test_too_many_filters_are_refused_over_all_links():
    async def story():
        async with Quotas(filters=3) as quotas, await quotas.connect() as one, await quotas.connect() as two:
            subscription = await one.subscribe("x = 1 or x = 2")
            await two.subscribe("x = 3")
            with pytest.raises(Refused, match=r"too many filters in all your subscriptions: 4; your limit is 3"):
                await two.subscribe("x = 4")
            await one.offer("x = 1 or x = 2 or x = 3", lambda _: None)  # counted apart
            await subscription.unsubscribe()
            await two.subscribe("x = 4 or x = 5")

    run(story())


def test_durable_subscriptions_count_while_their_clients_are_away(tmp_path):
    async def story():
        async with Quotas(journal=tmp_path, filters=3) as quotas:
            async with await quotas.connect() as gone:
                await gone.subscribe("x = 1 or x = 2", durable="billing", wait=True)
            async with await quotas.connect() as client:
                replay = await client.subscribe("x = 3", since="first")
                full = r"too many filters in all your subscriptions, durable ones included: 4; your limit is 3"
                for kind in ({}, {"durable": "other"}, {"since": "first"}):
                    with pytest.raises(Refused, match=full):
                        await client.subscribe("x = 4", **kind)
                await client.subscribe("", durable="billing")  # joining adds nothing
                await replay.unsubscribe()
                await client.subscribe("x = 4")
                await client.remove_durable("billing")
                await client.subscribe("x = 5 or x = 6", since="first")

    run(story())


def test_every_refusal_is_in_the_audit_log(tmp_path):
    path = tmp_path / "audit.jsonl"

    async def story():
        async with Quotas(filters=1, publish="x = 1", links=1) as quotas, await quotas.connect() as client:
            with pytest.raises(Refused):
                await client.subscribe("x = 1 or x = 2")
            with pytest.raises(Refused):
                await client.publish({"x": 2}, wait=True)
            with pytest.raises(Refused):
                await quotas.connect()
            with pytest.raises(Refused):
                await connect_async(str(quotas.router.address), token="ticker.forged")

    use_audit_log(open_audit_log(str(path), "a"))
    try:
        run(story())
    finally:
        use_audit_log(open_audit_log("", "a"))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(row["client"], row["operation"], row["reason"].partition(";")[0]) for row in rows] == [
        ("limited", "subscribe", "too many filters in all your subscriptions: 2"),
        ("limited", "publish", "you may only publish `x = 1`: this message does not match `x = 1`"),
        ("", "link", "too many links at once"),
        ("", "link", "unknown token"),
    ]
    assert all(row["address"].startswith("127.0.0.1:") for row in rows)
    assert "forged" not in path.read_text()


class HeldTurns:
    """Turns in which nobody has time until the test says so."""

    def __init__(self):
        self.is_held = True
        self.waiting = []
        self.charged = set()

    def has_time(self, _):
        return not self.is_held

    def wait(self, payer, resume):
        self.waiting.append((payer, resume))

    def charge(self, payer, weight, seconds):
        assert seconds >= 0
        self.charged.add((payer, weight))


def test_replays_of_an_account_wait_for_its_turns_and_are_charged_to_it(tmp_path):
    async def story():
        async with Quotas(tmp_path, weight=3) as quotas, await quotas.connect() as client:
            await client.publish_durably([{"x": n} for n in range(1, 41)], timeout=60)
            turns = quotas.router.turns = HeldTurns()  # those of the scheduler stay
            subscription = await client.subscribe("x > 0", since="first")
            await wait_until_async(lambda: turns.waiting)
            await client.status()
            assert len(subscription) == 0
            ((payer, resume),) = turns.waiting
            assert (payer, turns.charged) == ("limited", set())
            turns.is_held = False
            resume()
            await wait_until_async(lambda: len(subscription) == 40)
            assert turns.charged == {("limited", 3)}

    run(story())
