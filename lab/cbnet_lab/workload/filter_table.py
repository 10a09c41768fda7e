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

import numpy as np
import pyarrow as pa
from numpy.random import Generator
from numpy.typing import NDArray

from cbnet.language.constraint import Op
from cbnet.language.notation import format_name
from cbnet_lab.workload.distributions import weighted
from cbnet_lab.workload.scenario import Scenario, Types, WorkloadParameters, draw_by_type

_TEXT = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        ("rule", pa.int64()), ("filter", pa.int64()),
        ("name", _TEXT), ("op", pa.dictionary(pa.int8(), pa.string())),
        ("string", _TEXT), ("int", pa.int64()), ("float", pa.float64()), ("bool", pa.bool_()),
    ]
)  # fmt: skip
_NO_TYPE = -1  # the row of a filter without constraints


def filters(parameters: WorkloadParameters) -> pa.Table:
    """Return the filters of a scenario."""
    scenario = parameters.scenario()
    rng = scenario.stream("filters")
    interfaces = _repeated(scenario.spread(rng))
    constraints = rng.integers(scenario.constraints.start, scenario.constraints.stop, size=len(interfaces))
    filters = _repeated(np.maximum(constraints, 1))
    types = scenario.draw_types(rng, len(filters))
    types[constraints[filters] == 0] = _NO_TYPE
    columns = {"rule": pa.array(interfaces[filters]), "filter": pa.array(filters)}
    columns |= _names_and_operators(scenario, rng, types) | _values(scenario, rng, types)
    rest = {field.name: pa.nulls(len(filters), field.type) for field in SCHEMA if field.name not in columns}
    return pa.table(columns | rest, schema=SCHEMA)


def _repeated(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0 counts[0] times, then 1 counts[1] times, and so on."""
    return np.repeat(np.arange(len(counts)), counts)


def _names_and_operators(scenario: Scenario, rng: Generator, types: Types) -> dict[str, pa.Array]:
    """Return names and operators; names are drawn independently, so a filter may repeat one."""
    names = weighted(scenario.name_weights)(rng, len(types))
    operators = draw_by_type(rng, types, [domain.draw_operator for domain in scenario.domains])
    none = types == _NO_TYPE
    coded = pa.array(names, mask=none), pa.array(operators.astype(np.int8), mask=none)
    return {
        "name": pa.DictionaryArray.from_arrays(coded[0], pa.array(scenario.names)),
        "op": pa.DictionaryArray.from_arrays(coded[1], pa.array([op.value for op in Op])),
    }


def _values(scenario: Scenario, rng: Generator, types: Types) -> dict[str, pa.Array]:
    """Return a column of values for each type, null in the rows of another type."""
    ranks = draw_by_type(rng, types, [domain.draw for domain in scenario.domains])
    columns: dict[str, pa.Array] = {}
    for type, domain in enumerate(scenario.domains):
        indexes = pa.array(ranks, mask=types != type)
        column = pa.DictionaryArray.from_arrays(indexes, pa.array(domain.values))
        columns[domain.type] = column if domain.type == "string" else column.dictionary_decode()
    return columns


def with_conditions(filters: pa.Table, share: float) -> pa.Table:
    """Return filters, as rows of constraints, of which a share has a condition on an attribute that it tests.

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
