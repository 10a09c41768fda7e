"""Faults of real router processes and of the links between them.

    router a ──► relay ──► router b         a relay can cut, silence or slow the link

A write can be torn at the end of a SQLite log, as left by a machine that fails while writing a transaction:

    │ header │ frame │ frame, commit │ frame │ frame, commit │ torn: part of a frame, or garbage

The log ends after the last commit frame before which all checksums are correct. Synced data lies before this point, and
is left alone. https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import resource
import shutil
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from cbnet.network import ProcessNetwork
from cbnet.network.protocol.addresses import Address
from cbnet.network.transport.journals.sqlite_journal import FILE
from cbnet_lab.faults.driver.driver import Fault

_HEADER, _FRAME_HEADER = 32, 24  # bytes
_SIZES = ("page_size", "wal_checkpoint")  # of a page; of the log, in frames
_MAX_TORN = 10_000  # bytes
_DELAY = 0.2  # of a slow link, in seconds
_NO_LIMIT = resource.RLIM_INFINITY


def committed_end(log: Path) -> int:
    """Return where the last transaction of a log ends, as SQLite finds it in a copy; 0 if it has none."""
    with TemporaryDirectory() as folder:
        for file in log.parent.glob(f"{log.name.removesuffix('-wal')}*"):
            shutil.copy(file, folder)
        with closing(sqlite3.connect(Path(folder, log.name.removesuffix("-wal")))) as copied:
            (page,), (_, frames, _) = (copied.execute(f"PRAGMA {each}").fetchone() for each in _SIZES)
    return _HEADER + frames * (_FRAME_HEADER + page) if frames > 0 else 0


def tear(path: Path, random: Random) -> int:
    """Write garbage, or a frame with a wrong checksum, after the last transaction; return the number of bytes."""
    if not path.exists():
        return 0
    log, end = path.read_bytes(), committed_end(path)
    if not end:
        return 0
    torn = random.randbytes(random.randint(1, _MAX_TORN))
    if random.random() < 0.5:
        torn = log[_HEADER:end][-random.randint(1, end - _HEADER) :][:_MAX_TORN]  # with the right salts
    path.write_bytes(log[:end] + torn)
    return len(torn)


class Relay:
    """A relay of connections to one address."""

    def __init__(self, to: Address) -> None:
        """Listen on a free port; connections are relayed to `to`."""
        self._to = to
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = Address(*self._listener.getsockname()[:2])
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._is_cut = False
        self._delay = 0.0  # seconds
        self._is_flowing = threading.Event()
        self._is_flowing.set()
        threading.Thread(target=self._accept, daemon=True, name="cbnet-relay").start()

    def cut(self) -> None:
        """Close all connections, and new ones as they arrive."""
        with self._lock:
            self._is_cut = True
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            self._open.clear()

    def silence(self) -> None:
        """Stop forwarding without closing connections."""
        self._is_flowing.clear()

    def slow(self, seconds: float) -> None:
        """Delay all data; at most 64 KiB are forwarded at a time, so this also limits the throughput."""
        self._delay = seconds

    def repair(self) -> None:
        """Resume forwarding, without delay; silenced connections are closed, and their withheld data is lost."""
        self._delay = 0.0
        if not self._is_flowing.is_set():
            self.cut()
            self._is_flowing.set()
        with self._lock:
            self._is_cut = False

    def close(self) -> None:
        """Stop the relay."""
        self.cut()
        self._is_flowing.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(self._to, timeout=5)
        except OSError:
            near.close()
            return
        far.settimeout(None)
        with self._lock:
            is_cut = self._is_cut
            if not is_cut:
                self._open += [near, far]
        if is_cut:
            near.close()
            far.close()
            return
        back = threading.Thread(target=self._forward, args=(far, near), daemon=True)
        back.start()
        self._forward(near, far)
        back.join()
        near.close()
        far.close()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self._is_flowing.wait()
                time.sleep(self._delay)
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


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

    def start(self, seconds: float, *, token: str | None = None) -> None:
        """Start all routers; wait at most `seconds` until they are connected; token: of a client that may watch."""
        self.network.start(*self.network.settings)
        self.network.wait(seconds, token=token)

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
                if fault.kind == "torn write" and isinstance(self.network.journals, Path):
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
