"""Status of many routers, queried in parallel."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from cbnet.network.client.async_client import connect_async
from cbnet.network.errors import NetworkError
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import Status
from cbnet.network.security.tls import Tls
from cbnet.network.transport.event_loop import run


def statuses(
    routers: Mapping[str, Address],
    *,
    network: str = "cbnet",
    timeout: float = 2.0,
    tls: Tls | None = None,
    token: str | None = None,
) -> dict[str, Status]:
    """Return the status of each router that answers before the timeout."""
    return run(_all(routers, network, timeout, tls, token))


async def _all(
    routers: Mapping[str, Address], network: str, timeout: float, tls: Tls | None, token: str | None
) -> dict[str, Status]:
    answers = await asyncio.gather(*(_one(address, network, timeout, tls, token) for address in routers.values()))
    return {name: answer for name, answer in zip(routers, answers, strict=True) if answer is not None}


async def _one(
    address: Address, network: str, timeout: float, tls: Tls | None, token: str | None
) -> Status | None:  # fmt: skip
    try:
        async with await connect_async(str(address), network=network, timeout=timeout, tls=tls, token=token) as client:
            return await client.status(timeout)
    except NetworkError:
        return None
