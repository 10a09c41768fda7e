"""Messages that share few attribute names with the filters: the rest are renamed to names that no filter has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet_lab.bench.bench_input import BenchInput
from cbnet_lab.workload import as_messages

_PREFIX = "in no filter: "


def with_unknown_attributes(data: BenchInput, known: int) -> BenchInput:
    """Return the input with messages of which at most `known` attributes have a name that filters use."""
    names = data.messages.schema.names
    order = np.random.default_rng(0).permutation(len(names))
    columns = [data.messages.column(number) for number in range(len(names))]
    rank = np.cumsum([columns[number].is_valid().to_numpy(zero_copy_only=False) for number in order], axis=0)
    parts: list[tuple[str, pa.Array]] = []
    for step, number in enumerate(order):
        keeps = pa.array(rank[step] <= known)
        column = columns[number]
        parts.append((names[number], pc.if_else(keeps, column, pa.scalar(None, column.type))))
        parts.append((_PREFIX + names[number], pc.if_else(keeps, pa.scalar(None, column.type), column)))
    parts.sort(key=lambda part: part[0])
    batch = pa.RecordBatch.from_arrays([column for _, column in parts], [name for name, _ in parts])
    return replace(data, messages=batch, members=as_messages(batch), texts=[])
