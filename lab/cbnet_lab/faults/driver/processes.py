"""Faults of real router processes and of the links between them."""

from __future__ import annotations

import resource
import signal
from collections.abc import Mapping
from pathlib import Path
from random import Random

from cbnet.network import ProcessNetwork
from cbnet.network.transport.journal.sqlite_journal import FILE
from cbnet_lab.faults.driver.relay import Relay
from cbnet_lab.faults.driver.schedule import Fault
from cbnet_lab.faults.driver.torn_write import tear

_DELAY = 0.2  # seconds, of a slow link
_NO_LIMIT = resource.RLIM_INFINITY


class ProcessFaults:
    """Breaks and mends parts of a network."""

    def __init__(
        self, network: ProcessNetwork, relays: Mapping[str, Relay], journals: Path | None = None, seed: int = 0
    ) -> None:
        """Initialise; relays: by link, such as r0-r1."""
        self.network = network
        self.journals = journals
        self._relays = relays
        self._random = Random(f"torn {seed}")

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
        """Mend a part."""
        match fault.kind:
            case "kill" | "torn write":
                if fault.kind == "torn write" and self.journals is not None:
                    tear(self.journals / fault.of / f"{FILE}-wal", self._random)
                self.network.start(fault.of)
            case "stop":
                self.network.signal(fault.of, signal.SIGCONT)
            case "cut" | "silent cut" | "slow link":
                self._relays[fault.of].repair()
            case "full disk":
                self._limit_files(fault.of, _NO_LIMIT)

    def _limit_files(self, router: str, size: int) -> None:
        """Let writes of a process beyond this size fail: a full disk without the right to mount one."""
        resource.prlimit(self.network.pids[router], resource.RLIMIT_FSIZE, (size, _NO_LIMIT))
