"""Faults of real router processes and of the links between them."""

from __future__ import annotations

import resource
import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack
from random import Random

from cbnet.network import ProcessNetwork
from cbnet.network.transport.journal.sqlite_journal import FILE
from cbnet_lab.faults.driver.driver import Fault
from cbnet_lab.faults.driver.relay import Relay
from cbnet_lab.faults.driver.torn_write import tear

_DELAY = 0.2  # of a slow link, in seconds
_NO_LIMIT = resource.RLIM_INFINITY


def ends(link: str) -> tuple[str, str]:
    """Return the routers of a link; the first one dials the other."""
    near, far = link.split("-")
    return near, far


class ProcessFaults(ExitStack):
    """Breaks and repairs parts of a network, which runs until the end of the `with` block."""

    def __init__(self, network: ProcessNetwork, links: Sequence[str] = (), seed: int = 0) -> None:
        """Initialise; links: the links that can fail, such as r0-r1."""
        super().__init__()
        self.network = network
        self.callback(network.close)
        self._relays: dict[str, Relay] = {}
        for link in links:
            relay = self._relays[link] = Relay(network.addresses[ends(link)[1]])
            self.callback(relay.close)
            network.relays[ends(link)] = relay.address
        self._random = Random(f"torn {seed}")

    def start(self, seconds: float) -> None:
        """Start all routers; wait at most `seconds` until they are connected."""
        self.network.start(*self.network.settings)
        self.network.wait(seconds)

    @property
    def now(self) -> float:
        """The time, in seconds."""
        return time.monotonic()

    def wait(self, until: float) -> None:
        """Sleep until a point in time."""
        time.sleep(max(0.0, until - self.now))

    def begin(self, fault: Fault) -> bool:
        """Break a part."""
        match fault.kind:
            case "kill" | "torn write":
                self.network.kill(fault.of)
            case "stop":
                self.network.signal(fault.of, signal.SIGSTOP)
            case "cut":
                self._relays[fault.of].cut()
            case "silent cut":
                self._relays[fault.of].silence()
            case "slow link":
                self._relays[fault.of].slow(_DELAY)
            case "full disk":
                self._limit_files(fault.of, 1)
            case _:
                raise ValueError(f"unknown fault {fault.kind!r}")
        return True

    def end(self, fault: Fault) -> None:
        """Repair a part."""
        match fault.kind:
            case "kill" | "torn write":
                if fault.kind == "torn write" and self.network.journals is not None:
                    tear(self.network.journals / fault.of / f"{FILE}-wal", self._random)
                self.network.start(fault.of)
            case "stop":
                self.network.signal(fault.of, signal.SIGCONT)
            case "cut" | "silent cut" | "slow link":
                self._relays[fault.of].repair()
            case "full disk":
                self._limit_files(fault.of, _NO_LIMIT)

    def _limit_files(self, router: str, size: int) -> None:
        """Limit the file size of a process: writes beyond it fail, as on a full disk."""
        resource.prlimit(self.network.pids[router], resource.RLIMIT_FSIZE, (size, _NO_LIMIT))
