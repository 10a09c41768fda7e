"""Parallel matching by processes, which calibrates matching by threads.

Two threads cannot be faster than two processes that each match half of the messages against the same
table file, share nothing and need not merge their results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from time import monotonic
from typing import TYPE_CHECKING, Any

from cbnet.errors import CbnetError

if TYPE_CHECKING:
    import pyarrow as pa

    from cbnet_lab.bench.timing import Passes

ONE, TWO = "one process", "two processes"


@contextmanager
def matching_processes(table: Path, messages: pa.RecordBatch) -> Iterator[dict[str, Passes]]:
    """Start two processes; yield timers for matching all messages with one of them and with both."""
    middle = messages.num_rows // 2
    halves = [messages.slice(0, middle), messages.slice(middle)]
    context = get_context("spawn")  # a fork would copy the threads of Arrow in an unknown state
    pipes = [context.Pipe() for _ in halves]
    workers = [
        context.Process(target=_match_on_request, args=(theirs, table, halves), daemon=True) for _, theirs in pipes
    ]
    connections = [ours for ours, _ in pipes]
    try:
        for worker, (_, theirs) in zip(workers, pipes, strict=True):
            worker.start()
            theirs.close()
        for connection in connections:
            _receive(connection)  # until it is ready
        yield {
            ONE: lambda times: _run(connections[:1], [(0, 1)], times),
            TWO: lambda times: _run(connections, [(0,), (1,)], times),
        }
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
        for connection in connections:
            connection.close()


def _run(connections: Sequence[Connection], halves: Sequence[tuple[int, ...]], times: int) -> float:
    """Let each worker match its halves `times` times; return the seconds from the first start to the last end."""
    for connection, own in zip(connections, halves, strict=True):
        connection.send((own, times))
    spans = [_receive(connection) for connection in connections]
    return float(max(end for _, end in spans) - min(start for start, _ in spans))


def _receive(connection: Connection) -> Any:
    try:
        return connection.recv()
    except EOFError:
        raise CbnetError("a calibration process has died") from None


def _match_on_request(connection: Connection, table: Path, halves: Sequence[pa.RecordBatch]) -> None:
    from cbnet.matching.compiled_table import CompiledTable
    from cbnet.matching.storage.arrow_messages import encode_batch

    signal(SIGINT, SIG_IGN)  # on Ctrl-C the parent terminates this process
    compiled = CompiledTable.open(table)
    encoded = [encode_batch(half, compiled.symbols) for half in halves]  # each with the buffers that it refers to
    connection.send("ready")
    while True:
        own, times = connection.recv()
        start = monotonic()  # one clock for all processes
        for _ in range(times):
            for half in own:
                compiled.match_batch(encoded[half][0])
        connection.send((start, monotonic()))
