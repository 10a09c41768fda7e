"""Generated messages: an Arrow batch with one row per message.

There is a column per attribute name and type; null means absent. Attributes have no declared type, so
a name that occurs with two types has two columns, of which at most one is not null in a row:

    bread: string  bread: int64  tulip: int64
    "shoal"        -             17             {"bread": "shoal", "tulip": 17}
    -              4             -              {"bread": 4}

Columns are sorted by name, so frequent names are spread among the others: if they came first, a
matcher that reads columns in order would stop early more often than it should.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cbnet_lab.workload.dense_ranges import DenseRanges
from cbnet_lab.workload.distributions import Ranks, distinct
from cbnet_lab.workload.scenario import Types, WorkloadParameters, draw_by_type

Indexes: TypeAlias = NDArray[np.int64]


def messages(parameters: WorkloadParameters | DenseRanges) -> pa.RecordBatch:
    """Return the messages of a scenario, or those for ranges; the names in a message are distinct."""
    if isinstance(parameters, DenseRanges):
        return _range_messages(parameters)
    scenario = parameters.scenario()
    rng = scenario.stream("messages")
    sizes = rng.integers(scenario.attributes.start, scenario.attributes.stop, size=scenario.messages)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    names = distinct(rng, scenario.name_weights, sizes)
    types = scenario.draw_types(rng, len(rows))
    ranks = draw_by_type(rng, types, [domain.draw for domain in scenario.domains])
    values = [pa.array(domain.values) for domain in scenario.domains]
    columns = []
    for group in _groups(names, types):
        column = _column(values[types[group[0]]], ranks[group], rows[group], len(sizes))
        columns.append((scenario.names[names[group[0]]], column))
    columns.sort(key=lambda named: named[0])
    return pa.RecordBatch.from_arrays([column for _, column in columns], [name for name, _ in columns])


def _range_messages(parameters: DenseRanges) -> pa.RecordBatch:
    names, values = parameters.values_of_messages()
    columns = {}
    for rank in np.unique(names).tolist():
        has_name = names == rank
        value = np.where(has_name, values, 0).sum(axis=1)
        columns[parameters.name(rank)] = pa.array(value, mask=~has_name.any(axis=1))
    return pa.RecordBatch.from_pydict(dict(sorted(columns.items())))


def as_messages(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the messages of a batch in JSON form: a dict of attributes, tags under the key "#"."""
    messages: list[dict[str, Any]] = [{} for _ in range(batch.num_rows)]
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        rows = np.flatnonzero(column.is_valid())
        for row, value in zip(rows.tolist(), column.drop_null().to_pylist(), strict=True):
            messages[row][name] = value
    return messages


def _groups(names: Ranks, types: Types) -> list[Indexes]:
    """Return the indexes of each pair of a name and a type that occurs, sorted by pair."""
    order = np.lexsort((types, names))
    changes = (np.diff(names[order]) != 0) | (np.diff(types[order]) != 0)
    return np.split(order, np.flatnonzero(changes) + 1)


def _column(values: pa.Array, ranks: Ranks, rows: Indexes, count: int) -> pa.Array:
    """Return a column of `count` messages with values[ranks] in `rows` and null elsewhere."""
    dense = np.zeros(count, dtype=np.int32)
    absent = np.ones(count, dtype=bool)
    dense[rows], absent[rows] = ranks, False
    return values.take(pa.array(dense, mask=absent))
