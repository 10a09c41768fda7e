"""Standing predicates: what would users ask of records like these? Filters drawn from the records themselves.

A filter is drawn from a random record: 2 to 4 of its attributes, each with `=`, `<=`, `>=` or `^=` and the value there.
So every filter matches something. How often it matches others is estimated from how often each constraint holds, as if
they were independent; filters above a limit are drawn anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_FEWEST, _MOST = 2, 4  # constraints of a filter
_OPS = ("=", "<=", ">=", "^=")
_PREFIX = 2  # characters
_DRAWN = 200_000  # filters at a time
_ROUNDS = 200  # of drawing; most limits need few

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Attribute:
    """A column of the records, and how often each constraint with a row's own value holds."""

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
        """Return about `count` filters: for each, its record, its attributes, their ops, and how many it has."""
        rows = rng.integers(self.count, size=count)
        chosen = np.argsort(rng.random((count, len(self._attributes))), axis=1)[:, :_MOST]
        sizes = rng.integers(_FEWEST, min(_MOST, chosen.shape[1]) + 1, size=count)
        ops = np.where(rng.random(chosen.shape) < 0.6, 0, rng.integers(1, len(_OPS), size=chosen.shape))
        share = np.ones(count)
        for place in range(chosen.shape[1]):
            share *= np.where(place < sizes, self._share(rows, chosen[:, place], ops[:, place]), 1.0)
        good = share <= limit
        return rows[good], chosen[good], ops[good], sizes[good]

    def _share(self, rows: Any, attributes: Any, ops: Any) -> Floats:
        found = np.empty(len(rows))
        for number, attribute in enumerate(self._attributes):
            here = attributes == number
            found[here] = attribute.holds[ops[here], rows[here]]
        return found

    def constraints(self, filters: Any, rows: Any, attributes: Any, ops: Any, sizes: Any) -> list[pa.Table]:
        """Return the constraints of filters, a row each."""
        tables = []
        for place in range(attributes.shape[1]):
            for number, attribute in enumerate(self._attributes):
                for op, said in enumerate(_OPS):
                    here = np.flatnonzero((place < sizes) & (attributes[:, place] == number) & (ops[:, place] == op))
                    if len(here):
                        tables.append(_constraints(filters[here], attribute, said, rows[here]))
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
    """Return for each row how many rows have its value, as a share of all."""
    places = np.asarray(values.dictionary_encode().indices.fill_null(-1)).astype(np.int64)
    counts = np.bincount(places + 1)
    share: Floats = counts[places + 1] / max(len(values), 1)
    return share


def _rank_share(values: pa.Array, equal: Floats) -> Floats:
    """Return for each row how many rows have at most its value, as a share of all."""
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
            drawn = [column[: last - first] for column in records.draw(_DRAWN, limit, rng)]
            numbers = np.arange(first, first + len(drawn[0]))
            parts += records.constraints(numbers, *drawn)
            first += len(numbers)
    table = pa.concat_tables(parts)
    table = table.take(pc.sort_indices(table["filter"]))
    return table.add_column(0, "interface", table["filter"])
