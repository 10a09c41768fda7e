"""The processes that generate load, apart from the servers and from the process that measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from signal import SIG_IGN, SIGINT, signal
from types import TracebackType
from typing import Any, Protocol, Self

from cbnet.errors import CbnetError
from cbnet_lab.bench.router.load import Load, LoadProgress, Received, SentLoad, Target, Until
from cbnet_lab.bench.router.probe import PROBE, Probe
from cbnet_lab.bench.router.publisher import Publisher
from cbnet_lab.bench.router.receiver import Receiver

Latencies = Sequence[int]  # ns, of the probe's messages

_END_TIMEOUT = 0.5  # seconds; a run is not waited for


class Generator(Protocol):
    """One side of the load on a server."""

    def close(self) -> None:
        """Close all connections."""


class GeneratorProcess:
    """A process that holds generators by key, and calls their methods."""

    def __init__(self, kind: Callable[..., Generator], shared: Any) -> None:
        """Start the process; kind: the class of its generators."""
        context = get_context("spawn")  # a fork would copy threads in an unknown state
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(kind, shared, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def begin(self, key: str, method: str, *arguments: Any) -> None:
        """Begin a call; "open" creates a generator."""
        self._pipe.send((key, method, arguments))

    def result(self) -> Any:
        """Wait for the result of the call."""
        try:
            answer = self._pipe.recv()
        except (EOFError, OSError):
            raise CbnetError("a load generator died") from None
        if isinstance(answer, Exception):
            raise CbnetError(f"a load generator failed: {answer}")
        return answer

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(_END_TIMEOUT)
        self._process.kill()
        self._process.join()


class Generators:
    """A publishing, a receiving and a probing process; a context manager."""

    def __init__(self) -> None:
        shared = get_context("spawn").RawArray("q", 2)
        self._progress = LoadProgress(shared)
        self._receiver = GeneratorProcess(Receiver, shared)
        self._publisher = GeneratorProcess(Publisher, shared)
        self._probe = GeneratorProcess(Probe, shared)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for process in (self._publisher, self._receiver, self._probe):
            process.close()

    def open(self, key: str, publish_at: Target, subscribe_at: Target, load: Load, *, has_probe: bool) -> None:
        """Connect the clients of a load: first all subscribers."""
        self._call(self._receiver, key, "open", subscribe_at, load)
        self._call(self._publisher, key, "open", publish_at, load)
        if has_probe:
            self._call(self._probe, key, "open", publish_at, replace(PROBE, seed=load.seed))

    def run(self, key: str, until: Until, *, has_probe: bool) -> tuple[SentLoad, Received, Latencies]:
        """Publish, and wait for all deliveries."""
        self._progress.reset()
        self._receiver.begin(key, "run")
        if has_probe:
            self._probe.begin(key, "run")
        self._publisher.begin(key, "run", until)
        sent: SentLoad = self._publisher.result()
        received: Received = self._receiver.result()
        return sent, received, self._probe.result() if has_probe else ()

    def close(self, key: str, *, has_probe: bool) -> None:
        """Disconnect the clients of a load."""
        for process in (self._publisher, self._receiver, *([self._probe] if has_probe else [])):
            self._call(process, key, "close")

    def _call(self, process: GeneratorProcess, key: str, method: str, *arguments: Any) -> None:
        process.begin(key, method, *arguments)
        process.result()


def _serve(kind: Callable[..., Generator], shared: Any, pipe: Connection) -> None:
    """Carry out calls until the other end of the pipe closes."""
    signal(SIGINT, SIG_IGN)  # on Ctrl-C the parent ends this process
    generators: dict[str, Generator] = {}
    while True:
        try:
            key, method, arguments = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            if method == "open":
                generators[key] = kind(*arguments, LoadProgress(shared))
                answer = None
            else:
                answer = getattr(generators[key], method)(*arguments)
                if method == "close":
                    del generators[key]
        except (CbnetError, OSError) as error:
            answer = CbnetError(str(error))
        pipe.send(answer)
