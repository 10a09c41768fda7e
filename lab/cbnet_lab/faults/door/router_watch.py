"""Health checks and memory of a router process, sampled in a thread while it is under load."""

from __future__ import annotations

import http.client
import threading
import time
from types import TracebackType
from typing import Final, Self

import psutil

from cbnet.network.protocol.addresses import Address

_INTERVAL: Final = 0.1  # seconds
_TIMEOUT: Final = 10.0  # seconds of a health check


class RouterWatch:
    """Requests `/healthz` on a new connection each time; a context manager."""

    def __init__(self, pid: int, address: Address) -> None:
        self._process, self._address = psutil.Process(pid), address
        self.before = self.peak = self.memory
        self.checks = self.failures = 0
        self.slowest = 0.0  # seconds of a health check
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="cbnet-watch")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()

    @property
    def memory(self) -> int:
        """Bytes of the process in memory now."""
        return int(self._process.memory_info().rss)

    def _run(self) -> None:
        while not self._end.wait(_INTERVAL):
            self.peak = max(self.peak, self.memory)
            began = time.monotonic()
            self.checks += 1
            self.failures += not self._is_healthy()
            self.slowest = max(self.slowest, time.monotonic() - began)

    def _is_healthy(self) -> bool:
        link = http.client.HTTPConnection(*self._address, timeout=_TIMEOUT)
        try:
            link.request("GET", "/healthz", headers={"Connection": "close"})
            return link.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            link.close()
