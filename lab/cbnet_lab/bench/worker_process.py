"""A worker process, separate from the one that measures and controlled through a pipe."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from signal import SIG_IGN, SIGINT, signal
from typing import Any

from cbnet.errors import CbnetError

SPAWN = get_context("spawn")  # a fork would copy threads in an unknown state
_END_TIMEOUT = 0.5  # seconds; a run in progress is not awaited


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
    signal(SIGINT, SIG_IGN)  # on Ctrl-C the parent ends this process
    try:
        work(pipe, *arguments)
    except EOFError:  # the parent has ended, or closed the pipe
        return
    except (CbnetError, OSError) as error:
        try:
            pipe.send(CbnetError(str(error)))
        except OSError:  # the parent has closed the pipe
            return
