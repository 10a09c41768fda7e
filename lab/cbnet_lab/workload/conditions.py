"""Conditions added to a share of generated filters."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cbnet.language.notation import format_name


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
