"""The thread of a blocking client: an event loop that runs its coroutines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from cbnet.network.errors import NotConnected
from cbnet.network.transport.event_loop import new_loop

Result = TypeVar("Result")


class ClientThread:
    """A thread that runs until `stop`; `call` may be called in any other thread."""

    def __init__(self) -> None:
        self.loop = new_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="cbnet-client", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether the thread has not been stopped."""
        return self._thread.is_alive()

    def call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the thread and return its result."""
        if not self._thread.is_alive():
            coroutine.close()
            raise NotConnected("the client is closed")
        future: Future[Result] = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """End the thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()
