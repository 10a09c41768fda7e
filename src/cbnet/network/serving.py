"""Serving: how does a process become one router? It runs until it is told to end, by a signal or by who started it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping

from cbnet.network.addresses import Address
from cbnet.network.settings import Settings
from cbnet.network.tcp import TcpRouter


async def serve(
    settings: Settings,
    listen: Address,
    neighbours: Mapping[str, Address],
    *,
    on_start: Callable[[Address], None] = lambda _: None,
    lifeline: int | None = None,
) -> None:
    """Run a router until SIGTERM or SIGINT comes.

    on_start: called with the address when it listens. lifeline: a pipe; when its other end is closed, the router ends.
    """
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    if lifeline is not None:
        os.set_blocking(lifeline, False)
        loop.add_reader(lifeline, ended.set)
    router = TcpRouter(settings, listen, neighbours)
    await router.start()
    try:
        on_start(router.address)
        await ended.wait()
    finally:
        await router.stop()
