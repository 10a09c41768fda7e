"""Loops: in which event loop does the network run? In that of uvloop where it is installed, else in asyncio's own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from importlib import import_module
from typing import Any, TypeVar

Result = TypeVar("Result")


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop."""
    try:
        made: asyncio.AbstractEventLoop = import_module("uvloop").new_event_loop()
    except ImportError:
        return asyncio.new_event_loop()
    return made


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a loop of its own, and return what it returns."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(main)
