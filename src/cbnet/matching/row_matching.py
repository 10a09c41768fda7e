"""Matching of Arrow rows in parts of bounded size, on several threads.

The kernels run without the interpreter lock, so parts are matched at the same time; results come in the order of
the rows. The number of rows in a part follows the number of matches so far: a row may match every rule.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pyarrow as pa

from cbnet.errors import InputError
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.storage.arrow_messages import Rejected, encode_batch
from cbnet.matching.storage.columns import Array

FIRST_ROWS, _MAX_ROWS = 4096, 65_536  # of a part
_MATCHES = 1_000_000  # of a part, roughly

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class MatchedRows:
    """Consecutive rows, and the targets of each."""

    batch: pa.RecordBatch
    first: int  # number of the first row, from 0
    offsets: Array  # int64[rows + 1], into the targets
    targets: Array  # in a row in the order of `CompiledTable.match`
    rejected: Rejected = field(default_factory=dict)  # rows of the batch that are not valid messages


def match_rows(
    compiled: CompiledTable, batches: Iterable[pa.RecordBatch], *, threads: int = 1, reject: bool = False
) -> Iterator[MatchedRows]:
    """Match the rows of batches as they come.

    reject: collect the errors of invalid rows, which match nothing; else raise the first one.
    """
    matcher = _RowMatcher(compiled, reject)
    for matched in in_order(matcher.match, matcher.parts(batches), threads):
        matcher.adapt(matched)
        yield matched


def in_order(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Yield the result of each item in order; threads work on the next ones meanwhile."""
    if threads <= 1:
        yield from map(work, items)
        return
    running: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                running.append(pool.submit(work, item))
                if len(running) > threads + 1:  # one more than can run, so that no thread waits for the caller
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()


def next_rows(rows: int, matches: int) -> int:
    """Return the number of rows of the next parts, from the matches of a part."""
    return max(1, min(int(_MATCHES * rows / max(matches, 1)), _MAX_ROWS))


class _RowMatcher:
    def __init__(self, compiled: CompiledTable, reject: bool) -> None:
        self._compiled = compiled
        self._reject = reject
        self._rows = FIRST_ROWS

    def parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield parts of the batches, and the number of the first row of each."""
        first = 0
        for batch in batches:
            start = 0
            while start < batch.num_rows:
                part = batch.slice(start, self._rows)
                yield part, first
                start += part.num_rows
                first += part.num_rows

    def match(self, part: tuple[pa.RecordBatch, int]) -> MatchedRows:
        batch, first = part
        rejected: Rejected = {}
        encoded, kept = encode_batch(batch, self._compiled.symbols, first, rejected if self._reject else None)
        offsets, targets, _ = self._compiled.match_batch(encoded)
        del kept  # the kernel has read the buffers
        for row, error in self._compiled.undecided(encoded).items():
            rejected[row] = InputError(f"row {first + row + 1}, {error.problem}", hint=error.hint)
            if not self._reject:
                raise rejected[row]
        if rejected:
            offsets, targets = _without(np.array([*rejected]), offsets, targets)
        return MatchedRows(batch, first, offsets, targets, rejected)

    def adapt(self, matched: MatchedRows) -> None:
        """Choose the size of the next parts."""
        self._rows = next_rows(matched.batch.num_rows, len(matched.targets))


def _without(rows: Array, offsets: Array, targets: Array) -> tuple[Array, Array]:
    """Return offsets and targets without the targets of some rows."""
    counts = np.diff(offsets)
    counts[rows] = 0
    is_kept = np.ones(len(offsets) - 1, bool)
    is_kept[rows] = False
    return np.append(0, np.cumsum(counts)), targets[np.repeat(is_kept, np.diff(offsets))]


def rule_lists(names: pa.Array, offsets: Array, targets: Array, rejected: Iterable[int] = ()) -> pa.ListArray:
    """Return the rules of each row, null for the rejected ones; names: by target."""
    is_rejected = np.zeros(len(offsets) - 1, bool)
    is_rejected[[*rejected]] = True
    found = names.take(pa.array(targets))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), found, mask=pa.array(is_rejected))
