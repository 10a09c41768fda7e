"""Publisher and subscriber processes of a load test, separate from the routers.

One process publishes; the subscribers are shared among some others, which tell the first, in memory that all share,
how many deliveries have come. It holds back while too many are under way: nothing is measured that only waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from signal import SIG_IGN, SIGINT, signal
from types import TracebackType
from typing import Any, Self

import numpy as np

from cbnet.errors import CbnetError
from cbnet.network.client.load_clients import Deliveries, DeliveryCount, Order, PublishTiming

_START = 900.0  # seconds for all processes to be ready
_SETTLE = 0.3  # seconds after the last delivery, for one that should not come
_PATIENCE = 10.0  # seconds

Role = Callable[..., None]  # what a process does; its last arguments are `tally`, `asked` and `answer`


@dataclass(frozen=True)
class Came:
    """All that came in one run, by delivery."""

    published: PublishTiming
    subscribers: np.ndarray[Any, np.dtype[np.int64]]
    numbers: np.ndarray[Any, np.dtype[np.int64]]
    milliseconds: np.ndarray[Any, np.dtype[np.float64]]
    at: np.ndarray[Any, np.dtype[np.int64]]  # ns
    lost: int = 0  # deliveries that a router says it has dropped for a client
    reconnects: int = 0  # of clients

    @property
    def seconds(self) -> float:
        """From the first message until the last delivery."""
        end = max(self.published.ended, int(self.at.max()) if len(self.at) else 0)
        return (end - self.published.began) / 1e9


class LoadProcesses:
    """One process that publishes, and some that receive."""

    def __init__(self, publisher: tuple[Role, Sequence[Any]], receivers: Sequence[tuple[Role, Sequence[Any]]]) -> None:
        """Take what each does: a function, with its first arguments. It must be one that can be imported."""
        context = get_context("spawn")  # a fork would copy threads in an unknown state
        self._shared = context.RawArray("q", len(receivers))
        self._tally = DeliveryCount(self._shared)
        roles = [*((role, (*said, place)) for place, (role, said) in enumerate(receivers)), publisher]
        self._pipes: list[Connection] = []
        self._processes = []
        for role, said in roles:
            ours, theirs = context.Pipe()
            process = context.Process(target=_run, args=(role, said, self._shared, theirs), daemon=True)
            self._pipes.append(ours)
            self._processes.append((process, theirs))

    def __enter__(self) -> Self:
        try:
            for process, theirs in self._processes:
                process.start()
                theirs.close()
            for pipe in self._pipes:
                _answer(pipe, _START)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all processes."""
        for pipe in self._pipes:
            try:
                pipe.send("end")
            except OSError:
                continue  # it has ended already
        for process, _ in self._processes:
            if process.pid is not None:
                process.join(_SETTLE * 10)
                process.terminate()
                process.join()
        for pipe in self._pipes:
            pipe.close()

    @property
    def pids(self) -> tuple[int, list[int]]:
        """The process that publishes, and those that receive."""
        *receiving, publishing = [process.pid or 0 for process, _ in self._processes]
        return publishing, receiving

    def run(
        self,
        order: Order,
        expected: int,
        meanwhile: Callable[[], None] = lambda: None,
        patience: float = _PATIENCE,
    ) -> Came:
        """Publish, wait until so many deliveries have come, and return them.

        meanwhile: called once it has begun. patience: seconds without a delivery, after which no more are waited for.
        """
        *receiving, publishing = self._pipes
        before = self._tally.total()
        publishing.send(order)
        meanwhile()
        published: PublishTiming = _answer(publishing, None)
        self._wait(before + expected, patience)
        for pipe in receiving:
            pipe.send("tell")
        told: list[Deliveries] = [_answer(pipe, _START) for pipe in receiving]
        return _came(published, told)

    def _wait(self, expected: int, patience: float) -> None:
        """Wait until so many deliveries have come and it is silent, or no more come."""
        seen, seen_at = -1, time.monotonic()
        while True:
            total = self._tally.total()
            if total != seen:
                seen, seen_at = total, time.monotonic()
            silent = time.monotonic() - seen_at
            if silent > (_SETTLE if total >= expected else patience):
                return
            time.sleep(0.02)


def _came(published: PublishTiming, told: Sequence[Deliveries]) -> Came:
    def joined(name: str) -> Any:
        return np.concatenate([np.array(getattr(each, name), np.int64) for each in told])

    milliseconds = joined("nanoseconds") / 1e6
    lost = sum(each.lost for each in told)
    reconnects = published.reconnects + sum(each.reconnects for each in told)
    return Came(published, joined("subscribers"), joined("numbers"), milliseconds, joined("at"), lost, reconnects)


def _answer(pipe: Connection, timeout: float | None) -> Any:
    try:
        if not pipe.poll(timeout):
            raise CbnetError("a client process does not answer")
        answer = pipe.recv()
    except (EOFError, OSError):
        raise CbnetError("a client process has ended too soon") from None
    if isinstance(answer, Exception):
        raise CbnetError(f"a client process failed: {answer}")
    return answer


def _run(role: Role, said: Sequence[Any], shared: Any, pipe: Connection) -> None:
    """Play a role in this process until it is over."""
    signal(SIGINT, SIG_IGN)  # who is interrupted from the keyboard ends this process

    def asked() -> Any:
        try:
            return pipe.recv() if pipe.poll() else None
        except (EOFError, OSError):  # who started this process is gone
            return "end"

    try:
        role(*said, DeliveryCount(shared), asked, pipe.send)
    except (CbnetError, OSError) as error:
        pipe.send(CbnetError(str(error)))
