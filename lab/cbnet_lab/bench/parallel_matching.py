"""Parallel matching by processes, which is the upper bound for matching by threads.

Two threads cannot be faster than two processes that each match half of the messages against the same
table file, share nothing and need not merge their results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic

import pyarrow as pa

from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.storage.arrow_messages import encode_batch
from cbnet_lab.bench.processes import WorkerProcess
from cbnet_lab.bench.timing import Passes

ONE, TWO = "one process", "two processes"


@contextmanager
def matching_processes(table: Path, messages: pa.RecordBatch) -> Iterator[dict[str, Passes]]:
    """Start two processes; yield timers for matching all messages with one of them and with both."""
    middle = messages.num_rows // 2
    halves = [messages.slice(0, middle), messages.slice(middle)]
    workers = [WorkerProcess("a calibration process", _match_on_request, table, halves) for _ in halves]
    try:
        for worker in workers:
            worker.receive()  # wait until it is ready
        yield {
            ONE: lambda times: _run(workers[:1], [(0, 1)], times),
            TWO: lambda times: _run(workers, [(0,), (1,)], times),
        }
    finally:
        for worker in workers:
            worker.close()


def _run(workers: Sequence[WorkerProcess], halves: Sequence[tuple[int, ...]], times: int) -> float:
    """Match the halves of each worker `times` times; return the seconds from the first start to the last end."""
    for worker, own in zip(workers, halves, strict=True):
        worker.send((own, times))
    spans = [worker.receive() for worker in workers]
    return float(max(end for _, end in spans) - min(start for start, _ in spans))


def _match_on_request(pipe: Connection, table: Path, halves: Sequence[pa.RecordBatch]) -> None:
    compiled = CompiledTable.open(table)
    encoded = [encode_batch(half, compiled.symbols) for half in halves]  # each with the buffers that it refers to
    pipe.send("ready")
    while True:
        own, times = pipe.recv()
        start = monotonic()  # one clock for all processes
        for _ in range(times):
            for half in own:
                compiled.match_batch(encoded[half][0])
        pipe.send((start, monotonic()))
