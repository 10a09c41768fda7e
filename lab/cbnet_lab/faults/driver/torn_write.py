"""Torn writes at the end of a SQLite log, as left by a machine that fails while writing a transaction.

    │ header │ frame │ frame, commit │ frame │ frame, commit │ torn: part of a frame, or garbage

The log ends after the last commit frame before which all checksums are correct. Synced data lies before this point, and
is left alone. https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

_HEADER, _FRAME_HEADER = 32, 24  # bytes
_MAX_TORN = 10_000  # bytes


def committed_end(log: bytes) -> int:
    """Return where the last transaction of a log ends; 0 if it has none."""
    if len(log) < _HEADER:
        return 0
    magic, _, page, _, *salts = struct.unpack(">6I", log[:24])
    order = ">" if magic & 1 else "<"
    sums = _checksum(order, log[:24], (0, 0))
    end, at, size = 0, _HEADER, _FRAME_HEADER + page
    while at + size <= len(log):
        _, pages, *rest = struct.unpack(">6I", log[at : at + _FRAME_HEADER])
        sums = _checksum(order, log[at : at + 8], sums)
        sums = _checksum(order, log[at + _FRAME_HEADER : at + size], sums)
        if rest != [*salts, *sums]:
            break
        at += size
        if pages:
            end = at
    return end


def _checksum(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    for a, b in struct.iter_unpack(f"{order}2I", data):
        first = (first + a + second) & 0xFFFFFFFF
        second = (second + b + first) & 0xFFFFFFFF
    return first, second


def tear(path: Path, random: Random) -> int:
    """Write garbage, or a frame with a wrong checksum, after the last transaction; return the number of bytes."""
    if not path.exists():
        return 0
    log = path.read_bytes()
    end = committed_end(log)
    if not end:
        return 0
    torn = random.randbytes(random.randint(1, _MAX_TORN))
    if random.random() < 0.5:
        torn = log[_HEADER:end][-random.randint(1, end - _HEADER) :][:_MAX_TORN]  # with the right salts
    path.write_bytes(log[:end] + torn)
    return len(torn)
