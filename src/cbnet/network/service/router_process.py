"""Serving: how does a process become one router? It runs until it is told to end, by a signal or by who started it.

SIGTERM, SIGINT    it drains, then it ends; a second signal ends it at once
lifeline           it ends at once, as who started it has ended
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

from cbnet.network.link.settings import Settings
from cbnet.network.protocol.addresses import Address
from cbnet.network.router.initial_state import EMPTY_STATE, InitialState
from cbnet.network.security.policy import OPEN_POLICY, SecurityPolicy
from cbnet.network.service.process_settings import QUIET, ProcessSettings
from cbnet.network.transport.tcp_router import TcpRouter


async def serve(
    settings: Settings,
    listen: Address,
    neighbours: Mapping[str, Address],
    *,
    on_start: Callable[[Address], None] = lambda _: None,
    lifeline: int | None = None,
    security: SecurityPolicy = OPEN_POLICY,
    beginning: InitialState = EMPTY_STATE,
    process: ProcessSettings = QUIET,
) -> None:
    """Run a router until SIGTERM or SIGINT comes.

    on_start: called with the address when it listens. lifeline: a pipe; when its other end is closed, the router ends.
    """
    leaving, ended = told(lifeline)
    router = TcpRouter(settings, listen, neighbours, security, beginning)
    await router.start()
    try:
        async with pages(router, process.http):
            on_start(router.address)
            tell_systemd("READY=1")
            await leaving.wait()
            tell_systemd("STOPPING=1")
            if process.drain and not ended.is_set():
                await first(router.drain(process.drain), ended.wait())
    finally:
        await router.stop()


def told(lifeline: int | None) -> tuple[asyncio.Event, asyncio.Event]:
    """Return what is set when the router is to leave, and when it is to end at once."""
    loop = asyncio.get_running_loop()
    leaving, ended = asyncio.Event(), asyncio.Event()

    def signalled() -> None:
        (ended if leaving.is_set() else leaving).set()

    def cut() -> None:
        assert lifeline is not None
        loop.remove_reader(lifeline)
        ended.set()
        leaving.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled)
    if lifeline is not None:
        os.set_blocking(lifeline, False)
        loop.add_reader(lifeline, cut)
    return leaving, ended


@asynccontextmanager
async def pages(router: TcpRouter, where: Address | None) -> AsyncIterator[None]:
    """Tell over HTTP how a router is, if that is wanted, until it has drained."""
    if where is None:
        yield
        return
    from cbnet.network.service.http_server import HttpServer  # what metrics need is not everywhere

    pages = HttpServer(router, where)
    await pages.start()
    router.event_log.pages(pages.address)
    try:
        yield
    finally:
        await pages.stop()


async def first(*ways: Coroutine[Any, Any, object]) -> None:
    """Wait for the first of some, and give up the others."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def tell_systemd(state: str) -> None:
    """Tell the service manager how this process is, if there is one that wants to know."""
    where = os.environ.get("NOTIFY_SOCKET", "")
    if where:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notice:
            try:
                notice.sendto(state.encode(), "\0" + where[1:] if where.startswith("@") else where)
            except OSError:  # it is gone; that does not concern the network
                return
