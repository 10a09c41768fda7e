"""Generated filters: an Arrow table with one row per constraint.

    rule  filter  name   op  string  int  float  bool
    0     0       tulip  =   -       17   -      -       filter 0: tulip = 17 and
    0     0       grain  ^=  "ba"    -    -      -                 grain ^= "ba"
    0     1       -      -   -       -    -      -       filter 1: true, a filter without constraints

A rule is an interface of the papers. Sorted by rule and filter, both counted from 0. In a row with
an operator, exactly one of the last four columns is not null. numpy builds whole columns: there is no
Python object per constraint.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.random import Generator
from numpy.typing import NDArray

from cbnet.language.constraint import Op
from cbnet.language.values import Value, format_name
from cbnet_lab.workload.dense_ranges import DenseRanges
from cbnet_lab.workload.distributions import Ranks, weighted
from cbnet_lab.workload.scenario import Types, ValueDomain, WorkloadParameters, draw_by_type

_TEXT = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        ("rule", pa.int64()), ("filter", pa.int64()),
        ("name", _TEXT), ("op", pa.dictionary(pa.int8(), pa.string())),
        ("string", _TEXT), ("int", pa.int64()), ("float", pa.float64()), ("bool", pa.bool_()),
    ]
)  # fmt: skip
_NO_TYPE = -1  # the row of a filter without constraints


def filters(parameters: WorkloadParameters | DenseRanges) -> pa.Table:
    """Return the filters of a scenario, or of ranges."""
    if isinstance(parameters, DenseRanges):
        return _range_filters(parameters)
    scenario = parameters.scenario()
    rng = scenario.stream("filters")
    interfaces = _repeated(scenario.spread(rng))
    constraints = rng.integers(scenario.constraints.start, scenario.constraints.stop, size=len(interfaces))
    filters = _repeated(np.maximum(constraints, 1))
    types = scenario.draw_types(rng, len(filters))
    types[constraints[filters] == 0] = _NO_TYPE
    names = weighted(scenario.name_weights)(rng, len(types))  # independent, so a filter may repeat one
    columns = {"rule": pa.array(interfaces[filters]), "filter": pa.array(filters)}
    columns |= {"name": coded(names, scenario.names, types == _NO_TYPE)}
    return constraint_table(columns, rng, types, scenario.domains)


def _range_filters(parameters: DenseRanges) -> pa.Table:
    """Return filters of ranges: a row for each end, or one for a range of one value."""
    ranges = parameters.rows()
    is_equal = ranges.lows == ranges.highs
    rows = np.repeat(np.arange(len(ranges.names)), np.where(is_equal, 1, 2))
    is_end = np.diff(rows, prepend=-1) == 0
    operators = np.where(is_equal[rows], Op.EQ.rank, np.where(is_end, Op.LE.rank, Op.GE.rank))
    filters = ranges.filters[rows]
    return completed({
        "rule": pa.array(ranges.rules[filters]), "filter": pa.array(filters),
        "name": coded(ranges.names[rows], [parameters.name(rank) for rank in range(parameters.names)]),
        "op": coded(operators.astype(np.int8), [op.value for op in Op]),
        "int": pa.array(np.where(is_end, ranges.highs[rows], ranges.lows[rows])),
    })  # fmt: skip


def _repeated(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0 counts[0] times, then 1 counts[1] times, and so on."""
    return np.repeat(np.arange(len(counts)), counts)


def constraint_table(
    columns: dict[str, pa.Array], rng: Generator, types: Types, domains: Sequence[ValueDomain]
) -> pa.Table:
    """Return constraints with these rules, filters and names; operators and values are drawn by type."""
    operators = draw_by_type(rng, types, [domain.draw_operator for domain in domains])
    ranks = draw_by_type(rng, types, [domain.draw for domain in domains])
    columns |= {"op": coded(operators.astype(np.int8), [op.value for op in Op], types == _NO_TYPE)}
    for type, domain in enumerate(domains):
        column = coded(ranks, domain.values, types != type)
        columns[domain.type] = column if domain.type == "string" else column.dictionary_decode()
    return completed(columns)


def completed(columns: dict[str, pa.Array]) -> pa.Table:
    """Return a table of constraints; columns that are missing are null."""
    rest = {field.name: pa.nulls(len(columns["rule"]), field.type) for field in SCHEMA if field.name not in columns}
    return pa.table(columns | rest, schema=SCHEMA)


def coded(
    indexes: Ranks | NDArray[np.int8], values: Sequence[Value], is_null: NDArray[np.bool_] | None = None
) -> pa.Array:
    """Return values[indexes] as a dictionary array."""
    return pa.DictionaryArray.from_arrays(pa.array(indexes, mask=is_null), pa.array(values))


def with_conditions(filters: pa.Table, share: float) -> pa.Table:
    """Return filters, as rows of constraints, a share of which also have a condition on an attribute that they test.

    A string must not match a pattern, and a number must satisfy an inequality; most values do.
    """
    numbers, firsts = np.unique(filters["filter"].to_numpy(), return_index=True)
    chosen = np.random.default_rng(0).random(len(numbers)) < share
    rows = filters.take(pa.array(firsts[chosen])).to_pydict()
    texts = [
        f"{format_name(name)} not like \"%q_z%\"" if string is not None else f"{format_name(name)} * 2 != 12345"
        for name, string in zip(rows["name"], rows["string"], strict=True)
    ]  # fmt: skip
    count = len(texts)
    added = {
        "rule": rows["rule"], "filter": rows["filter"], "name": [None] * count, "op": ["text"] * count,
        "string": texts,
    }  # fmt: skip
    columns = [
        pa.array(added.get(field.name, [None] * count), _plain(field.type)).cast(field.type) for field in filters.schema
    ]
    table = pa.concat_tables([filters, pa.table(columns, schema=filters.schema)]).unify_dictionaries()
    return table.take(pa.array(np.argsort(table["filter"].to_numpy(), kind="stable")))


def _plain(type: pa.DataType) -> pa.DataType:
    return type.value_type if pa.types.is_dictionary(type) else type
