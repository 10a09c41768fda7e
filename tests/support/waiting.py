"""Waiting for conditions."""

import asyncio
import time


def wait_until(condition, timeout=60):
    """Wait until `condition()` is true and return its value; fail after `timeout` seconds."""
    end = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < end, f"not true within {timeout:g} s"
        time.sleep(0.01)
    return value


async def wait_until_async(condition, timeout=60):
    """Do the same in an event loop, which runs meanwhile."""
    end = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < end, f"not true within {timeout:g} s"
        await asyncio.sleep(0.01)
    return value
