"""The event loop of the network: uvloop's where it is installed, else asyncio's."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from importlib import import_module
from typing import Any, TypeVar

Result = TypeVar("Result")


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop."""
    try:
        loop: asyncio.AbstractEventLoop = import_module("uvloop").new_event_loop()
    except ImportError:
        return asyncio.new_event_loop()
    return loop


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a new event loop and return its result."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(main)
