"""The processes that generate load, apart from the servers and from the process that measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any, Protocol, Self

from cbnet.errors import CbnetError
from cbnet_lab.bench.router.load import Load, LoadProgress, Received, SentLoad, Target, Until
from cbnet_lab.bench.router.probe import PROBE, Probe
from cbnet_lab.bench.router.publisher import Publisher
from cbnet_lab.bench.router.receiver import Receiver
from cbnet_lab.bench.worker_process import SPAWN, WorkerProcess

Latencies = Sequence[int]  # ns, of the probe's messages


class Generator(Protocol):
    """One side of the load on a server."""

    def close(self) -> None:
        """Close all connections."""


class GeneratorProcess:
    """A process that holds generators by key, and calls their methods."""

    def __init__(self, kind: Callable[..., Generator], shared: Any) -> None:
        """Start the process; kind: the class of its generators."""
        self._worker = WorkerProcess("a load generator", _serve, kind, shared)
        self.result, self.close = self._worker.receive, self._worker.close

    def begin(self, key: str, method: str, *arguments: Any) -> None:
        """Begin a call, whose result `result` waits for; "open" creates a generator."""
        self._worker.send((key, method, arguments))


class Generators:
    """A publishing, a receiving and a probing process; a context manager."""

    def __init__(self) -> None:
        shared = SPAWN.RawArray("q", 2)
        self._progress = LoadProgress(shared)
        self._receiver = GeneratorProcess(Receiver, shared)
        self._publisher = GeneratorProcess(Publisher, shared)
        self._probe = GeneratorProcess(Probe, shared)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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


def _serve(pipe: Connection, kind: Callable[..., Generator], shared: Any) -> None:
    """Carry out calls until the other end of the pipe closes."""
    generators: dict[str, Generator] = {}
    while True:
        key, method, arguments = pipe.recv()
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
