"""Standing rules: filters drawn from the records that they will be matched against.

A filter is drawn from a random record: 2 to 4 of its attributes, each with `=`, `<=`, `>=` or `^=` and the record's
value, so every filter matches something. Its selectivity is estimated from those of its constraints as if they were
independent; filters above a limit are redrawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cbnet.matching.table import Table

_MIN_CONSTRAINTS, _MAX_CONSTRAINTS = 2, 4  # constraints of a filter
_OPS = ("=", "<=", ">=", "^=")
_PREFIX = 2  # characters
_BATCH = 200_000  # filters at a time
_ROUNDS = 200  # of drawing; usually a few suffice
_STEPS = 8  # of fitting the limit
_TOLERANCE = 1.25  # of the number of matches, a factor

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Attribute:
    """A column of the records, and the selectivity of constraints with the value of each row."""

    name: str
    values: pa.Array
    prefixes: pa.Array | None  # of strings
    holds: Floats  # [op, row]; infinite where the value is absent, or the op does not apply


class Records:
    """Records of one kind, from which filters are drawn."""

    def __init__(self, records: pa.Table) -> None:
        self.count = records.num_rows
        self._attributes = [_attribute(name, records[name].combine_chunks()) for name in records.column_names]

    def draw(self, count: int, limit: float, rng: np.random.Generator) -> tuple[Any, Any, Any, Any]:
        """Return at most `count` filters: record, attributes, operators and number of constraints of each."""
        rows = rng.integers(self.count, size=count)
        chosen = np.argsort(rng.random((count, len(self._attributes))), axis=1)[:, :_MAX_CONSTRAINTS]
        sizes = rng.integers(_MIN_CONSTRAINTS, min(_MAX_CONSTRAINTS, chosen.shape[1]) + 1, size=count)
        ops = np.where(rng.random(chosen.shape) < 0.6, 0, rng.integers(1, len(_OPS), size=chosen.shape))
        share = np.ones(count)
        for column in range(chosen.shape[1]):
            share *= np.where(column < sizes, self._share(rows, chosen[:, column], ops[:, column]), 1.0)
        good = share <= limit
        return rows[good], chosen[good], ops[good], sizes[good]

    def _share(self, rows: Any, attributes: Any, ops: Any) -> Floats:
        found = np.empty(len(rows))
        for number, attribute in enumerate(self._attributes):
            here = attributes == number
            found[here] = attribute.holds[ops[here], rows[here]]
        return found

    def constraints(self, filters: Any, rows: Any, attributes: Any, ops: Any, sizes: Any) -> list[pa.Table]:
        """Return the constraints of filters, one row each."""
        tables = []
        for column in range(attributes.shape[1]):
            for number, attribute in enumerate(self._attributes):
                for op, symbol in enumerate(_OPS):
                    here = np.flatnonzero((column < sizes) & (attributes[:, column] == number) & (ops[:, column] == op))
                    if len(here):
                        tables.append(_constraints(filters[here], attribute, symbol, rows[here]))
        return tables


def _attribute(name: str, values: pa.Array) -> _Attribute:
    present = values.is_valid().to_numpy(zero_copy_only=False)
    never = np.full(len(values), np.inf)
    equal = _equal_share(values)
    if pa.types.is_string(values.type):
        prefixes = pc.utf8_slice_codeunits(values, 0, _PREFIX)
        holds = np.stack([equal, never, never, _equal_share(prefixes)])
    else:
        prefixes, up_to = None, _rank_share(values, equal)
        holds = np.stack([equal, up_to, 1 - up_to + equal, never])
    return _Attribute(name, values, prefixes, np.where(present, holds, np.inf))


def _equal_share(values: pa.Array) -> Floats:
    """Return for each row the share of rows with its value."""
    codes = np.asarray(values.dictionary_encode().indices.fill_null(-1)).astype(np.int64)
    counts = np.bincount(codes + 1)
    share: Floats = counts[codes + 1] / max(len(values), 1)
    return share


def _rank_share(values: pa.Array, equal: Floats) -> Floats:
    """Return for each row the share of rows with at most its value."""
    ranks = np.asarray(pc.rank(values, sort_keys="ascending", tiebreaker="min")).astype(np.float64)
    return (ranks - 1) / max(len(values), 1) + equal


def _constraints(filters: Any, attribute: _Attribute, op: str, rows: Any) -> pa.Table:
    values = attribute.values if op != "^=" or attribute.prefixes is None else attribute.prefixes
    chosen = values.take(pa.array(rows))
    count = len(rows)
    columns = {
        "filter": pa.array(filters, pa.int64()),
        "name": pa.array([attribute.name] * count),
        "op": pa.array([op] * count),
    }
    for name, type, is_type in (
        ("string", pa.string(), pa.types.is_string),
        ("int", pa.int64(), pa.types.is_integer),
        ("float", pa.float64(), pa.types.is_floating),
    ):
        columns[name] = chosen.cast(type) if is_type(chosen.type) else pa.nulls(count, type)
    return pa.table(columns)


def standing_filters(kinds: Sequence[Records], count: int, limit: float, seed: int = 0) -> pa.Table:
    """Return filters over records of several kinds, each of its own interface, in the columns of `Table.from_arrow`."""
    rng = np.random.default_rng(seed)
    total = sum(records.count for records in kinds)
    parts, first = [], 0
    for records in kinds:
        last = first + round(count * records.count / total) if records is not kinds[-1] else count
        for _ in range(_ROUNDS):
            if first == last:
                break
            drawn = [column[: last - first] for column in records.draw(_BATCH, limit, rng)]
            numbers = np.arange(first, first + len(drawn[0]))
            parts += records.constraints(numbers, *drawn)
            first += len(numbers)
    table = pa.concat_tables(parts)
    table = table.take(pc.sort_indices(table["filter"]))
    return table.add_column(0, "rule", table["filter"])


def fitted_limit(
    kinds: Sequence[Records], sample: pa.RecordBatch, count: int, matches: float, *, drawn: int = 20_000, seed: int = 0
) -> float:
    """Return the limit with which a record of the sample matches about `matches` of `count` filters.

    `standing_filters` estimates selectivity as if constraints were independent, which they are not in real records: so
    some filters are drawn and matched, and the limit is corrected by the result.
    """
    limit = matches / count
    for step in range(_STEPS):
        filters = standing_filters(kinds, drawn, limit, seed + step)
        found = len(pc.list_flatten(Table.from_arrow(filters, reduce=False).match_frame(sample)))
        actual = found / sample.num_rows * count / drawn
        if 1 / _TOLERANCE <= actual / matches <= _TOLERANCE:
            break
        limit *= float(np.clip(matches / max(actual, 1e-9), 0.05, 20))
    return limit
