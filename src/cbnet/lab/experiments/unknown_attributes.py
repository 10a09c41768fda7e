"""Strangers: what do messages look like that share few names with the filters? Attributes under names that none has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet.lab.bench.bench_input import BenchInput
from cbnet.lab.workload import as_messages

_STRANGE = "in no filter: "  # before a name, makes one that no filter has


def with_strangers(given: BenchInput, kept: int) -> BenchInput:
    """Return the same with messages of which only so many attributes keep a name that filters have."""
    names = given.messages.schema.names
    order = np.random.default_rng(0).permutation(len(names))
    columns = [given.messages.column(place) for place in range(len(names))]
    rank = np.cumsum([columns[place].is_valid().to_numpy(zero_copy_only=False) for place in order], axis=0)
    parts: list[tuple[str, pa.Array]] = []
    for turn, place in enumerate(order):
        keeps = pa.array(rank[turn] <= kept)
        own = columns[place]
        parts.append((names[place], pc.if_else(keeps, own, pa.scalar(None, own.type))))
        parts.append((_STRANGE + names[place], pc.if_else(keeps, pa.scalar(None, own.type), own)))
    parts.sort(key=lambda part: part[0])
    batch = pa.RecordBatch.from_arrays([column for _, column in parts], [name for name, _ in parts])
    return replace(given, messages=batch, members=as_messages(batch), texts=[])
