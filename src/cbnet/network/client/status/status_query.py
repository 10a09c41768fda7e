"""Status of many routers, queried in parallel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

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
    on_failure: Callable[[str, NetworkError], None] = lambda *_: None,
) -> dict[str, Status]:
    """Return the status of each router that answers before the timeout; on_failure: called for each other router."""

    async def one(address: Address) -> Status | NetworkError:
        try:
            async with await connect_async(
                str(address), network=network, timeout=timeout, tls=tls, token=token
            ) as client:  # fmt: skip
                return await client.status(timeout)
        except NetworkError as error:
            return error

    async def all() -> list[Status | NetworkError]:
        return await asyncio.gather(*map(one, routers.values()))

    found: dict[str, Status] = {}
    for name, answer in zip(routers, run(all()), strict=True):
        if isinstance(answer, Status):
            found[name] = answer
        else:
            on_failure(name, answer)
    return found
