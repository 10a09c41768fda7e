"""The addresses to which a client follows the home of its durable subscription."""

import asyncio

import pytest

from cbnet.network import AsyncClient
from cbnet.network.protocol.addresses import parse_address
from cbnet.network.security.tokens import new_token

TOKEN = new_token("ann").token


async def never(_, __):
    """Dial in vain."""
    await asyncio.sleep(3_600)


def follows(address, *, in_process=False, token=None):
    """Return whether a client of two routers would connect to an address that a router names."""

    async def ask():
        client = AsyncClient(["127.0.0.1:1", "localhost:2"], token=token, dialler=never if in_process else None)
        try:
            return client._link.may_dial(parse_address(address))
        finally:
            await client.close()

    return asyncio.run(ask())


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:7", "home.example:4001"])
def test_without_a_token_a_client_follows_any_address(address):
    assert follows(address)


@pytest.mark.parametrize(
    ("address", "expected"), [("localhost:2", True), ("127.0.0.1:7", True), ("[2001:db8::1]:7", False)]
)
def test_a_token_reaches_no_machine_that_the_client_was_not_given(address, expected):
    assert follows(address, token=TOKEN) == expected


def test_a_client_inside_a_router_follows_nowhere():
    assert not follows("127.0.0.1:1", in_process=True)
