"""Faults of real router processes and of the links between them."""

from __future__ import annotations

import resource
import signal
from collections.abc import Mapping
from pathlib import Path
from random import Random

from cbnet.network import ProcessNetwork
from cbnet.network.transport.journal.sqlite_journal import FILE
from cbnet_lab.faults.relay import Relay
from cbnet_lab.faults.torn_write import tear

_DELAY = 0.2  # seconds, of a slow link
_NO_LIMIT = resource.RLIM_INFINITY


class ProcessFaults:
    """Breaks and mends parts of a network."""

    def __init__(self, network: ProcessNetwork, relays: Mapping[str, Relay], journals: Path, seed: int) -> None:
        """Initialise; relays: by link, such as r0-r1."""
        self._network = network
        self._relays = relays
        self._journals = journals
        self._random = Random(f"torn {seed}")

    def begin(self, kind: str, of: str) -> None:
        """Break a part."""
        match kind:
            case "kill" | "torn write":
                self._network.kill(of)
            case "stop":
                self._network.signal(of, signal.SIGSTOP)
            case "cut":
                self._relays[of].cut()
            case "silence":
                self._relays[of].silence()
            case "slow link":
                self._relays[of].slow(_DELAY)
            case "full disk":
                self._limit_files(of, 1)

    def end(self, kind: str, of: str) -> None:
        """Mend a part."""
        match kind:
            case "kill" | "torn write":
                if kind == "torn write":
                    tear(self._journals / of / f"{FILE}-wal", self._random)
                self._network.start(of)
            case "stop":
                self._network.signal(of, signal.SIGCONT)
            case "cut" | "silence" | "slow link":
                self._relays[of].repair()
            case "full disk":
                self._limit_files(of, _NO_LIMIT)

    def _limit_files(self, router: str, size: int) -> None:
        """Let writes of a process beyond this size fail: a full disk without the right to mount one."""
        resource.prlimit(self._network.pids[router], resource.RLIMIT_FSIZE, (size, _NO_LIMIT))
