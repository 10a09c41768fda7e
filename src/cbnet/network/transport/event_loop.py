"""Event loops: uvloop for clients, where it is installed; asyncio for routers.

A client's call takes a quarter less time with uvloop. A router that forwards a stream takes a third more, because
asyncio reads each connection once per iteration, and uvloop up to 32 times before it serves the others.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from importlib import import_module
from typing import Any, TypeVar

from cbnet.network.transport.garbage import GarbageTimer

Result = TypeVar("Result")
_SWITCH_INTERVAL = 0.001  # seconds


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop for a client."""
    try:
        loop: asyncio.AbstractEventLoop = import_module("uvloop").new_event_loop()
    except ImportError:
        return asyncio.new_event_loop()
    return loop


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine of a client in a new event loop and return its result."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(main)


def run_router(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine of a router in a new event loop and return its result.

    The garbage collector skips the objects loaded so far, which stay. A thread that compiles filters yields to the loop
    within a millisecond.
    """
    sys.setswitchinterval(_SWITCH_INTERVAL)
    # Windows' default event loop cannot accept connections in batches, as the acceptor does.
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        return runner.run(_with_collection(main))


async def _with_collection(main: Coroutine[Any, Any, Result]) -> Result:
    collecting = asyncio.ensure_future(GarbageTimer().run())
    try:
        return await main
    finally:
        collecting.cancel()


async def wait_first(*coroutines: Coroutine[Any, Any, object]) -> None:
    """Wait for the first of several coroutines to finish, and cancel the others."""
    tasks = [asyncio.ensure_future(each) for each in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
