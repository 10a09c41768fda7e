"""Statistics of a compiled table: its filters, names, types and operators, and bytes by part.

Counted by numpy over the columns of the table, without a Python object per filter.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from cbnet.language.values import RESERVED_NAME
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines.counting import determinants, selectivity_table
from cbnet.matching.engines.pivot import filters_by_index
from cbnet.matching.storage.codes import TESTS, Test, symbols_of, tests_of
from cbnet.matching.storage.columns import Array, Columns, lengths_of
from cbnet.matching.storage.table_file import VERSION

Row = dict[str, Any]
_TOP = 10  # rows of each ranking
_FILTER_KINDS = ("always", "single", "other")  # without constraints, with one, with several

# part of a table -> prefixes of the names of its arrays
_PARTS = {
    "names and tags": ("symbol_", "tested", "pivoted"),
    "names of rules": ("label_",),
    "priorities and metadata": ("rule_",),
    "numbers": ("number_",),
    "strings": ("string_",),
    "sets of values": ("value_set_", "member_"),
    "conditions": ("condition_",),
    "prefixes, suffixes, substrings": ("prefix_", "suffix_", "substring_"),
    "filters under hashed pivots": ("slots", "bucket_"),
    "filters under ordered pivots": ("list_", "listed_", "single_bounds", "entry_bounds"),
    "filters with ranges, in blocks": ("block",),
    "other constraints of filters": ("words",),
    "rules that share filters": ("group_",),
    "descriptors under their rarest tags": ("set_",),
    "rules of common tags, united": ("union_",),
    "Bloom filters of descriptors": ("bloom_",),
    "descriptors, to be read back": ("aside_",),
    "index of constraints": ("branches", "operands"),
    "tries of strings": ("nodes", "entries"),
    "postings of constraints": ("posting_",),
    "sizes of filters": ("sizes", "large_"),
    "filters, to be read back": ("filter_", "uncounted", "loose"),
    "selectivity table": ("determinants", "dense", "sparse", "silent"),
    "rules of empty filters": ("always",),
    "covered filters, kept aside": ("covered_",),
}
_TYPE_AND_OPERATOR = {
    Test.EXISTS: ("any", "exists"),
    Test.TAG: ("tag", "#"),
    Test.IN: ("any", "in"),
    Test.CONDITION: ("any", "condition"),
}
_TYPE_AND_OPERATOR |= {test: (str(kind), op.value) for (op, kind), test in reversed(TESTS.items()) if kind is not None}


def table_statistics(compiled: CompiledTable, size: int) -> Row:
    """Return the statistics of a table as the members of a JSON object; `size` is that of its file, in bytes."""
    columns, metadata = compiled.columns, compiled.metadata
    filters, covered = metadata["filters"], metadata["covered"]
    repeated = filters - len(columns)
    lengths = lengths_of(columns.offsets)
    kinds = np.bincount(np.minimum(lengths, 2), minlength=3).tolist()
    rules = sorted(compiled.rules.values(), key=lambda rule: -rule.priority)
    return {
        "engine": compiled.engine,
        "version": VERSION,
        "rules": metadata["interfaces"],
        "filters": filters,
        "constraints": metadata["constraints"],
        "bytes": size,
        "bytes_per_constraint": round(size / max(1, metadata["constraints"]), 1),
        "reduction": {"covered": covered, "repeated": repeated, "matched_against": filters - covered - repeated},
        "indexes": _indexes(compiled),
        "distinct": _distinct(columns),
        "filter_kinds": dict(zip(_FILTER_KINDS, kinds, strict=True)),
        "filter_sizes": _filter_sizes(lengths),
        "tests": _tests(columns),
        "top_names": _top(columns, 0, columns.names),
        "top_tags": _top(columns, columns.names, len(columns.symbols)),
        "determinants": _determinants(columns),
        "rule_details": [{"name": rule.name, "priority": rule.priority, "metadata": rule.metadata} for rule in rules],
        "parts": _parts(compiled.arrays, size),
    }


def _indexes(compiled: CompiledTable) -> list[Row]:
    """Return how many filters each part of a pivot index serves, the most first; other engines have no such parts."""
    counts = filters_by_index(compiled.arrays) if compiled.engine == "pivot" else {}
    rows = [{"index": index, "filters": count} for index, count in counts.items() if count]
    return sorted(rows, key=lambda row: -row["filters"])


def _distinct(columns: Columns) -> Row:
    names = columns.names - (1 if len(columns.conditions) else 0)  # without "#", the name of conditions
    tags = len(columns.symbols) - columns.names
    constants = {"numbers": len(columns.numbers), "strings": len(columns.strings), "sets": len(columns.sets)}
    return {"names": names, "tags": tags, **constants, "conditions": len(columns.conditions)}


def _filter_sizes(lengths: Array) -> list[Row]:
    sizes, counts = np.unique(lengths, return_counts=True)
    pairs = zip(sizes.tolist(), counts.tolist(), strict=True)
    return [{"constraints": size, "filters": count} for size, count in pairs]


def _tests(columns: Columns) -> list[Row]:
    """Return the number of constraints by type and operator, the commonest first."""
    counts = np.bincount(tests_of(columns.words), minlength=len(Test)).tolist()
    rows = [
        {"type": type, "operator": operator, "constraints": counts[test]}
        for test, (type, operator) in sorted(_TYPE_AND_OPERATOR.items())
    ]
    return sorted((row for row in rows if row["constraints"]), key=lambda row: -row["constraints"])


def _top(columns: Columns, first: int, end: int) -> list[Row]:
    """Return the names, or the tags, with most constraints."""
    counts = np.bincount(symbols_of(columns.words), minlength=len(columns.symbols))[first:end]
    order = np.argsort(-counts, kind="stable")[: _TOP + 1].tolist()
    rows = [
        {"name": columns.symbols[first + index], "constraints": int(counts[index])}
        for index in order
        if counts[index] and not _is_of_conditions(columns, first + index)
    ]
    return rows[:_TOP]


def _determinants(columns: Columns) -> list[Row]:
    """Return the first rows of the selectivity table: names whose absence excludes most rules."""
    table = determinants(selectivity_table(columns))
    rows = (
        {"name": columns.symbols[symbol], "is_tag": symbol >= columns.names, "rules": len(rules)}
        for symbol, rules in table
        if not _is_of_conditions(columns, symbol)
    )
    return list(islice(rows, _TOP))


def _is_of_conditions(columns: Columns, symbol: int) -> bool:
    """Return whether a symbol is "#", the name that every message has and that conditions test."""
    return symbol < columns.names and columns.symbols[symbol] == RESERVED_NAME


def _parts(arrays: dict[str, Array], size: int) -> list[Row]:
    """Return the bytes of each part, the largest first; an array of no part is a part of its own."""
    parts: dict[str, int] = {}
    for name, array in arrays.items():
        part = next((part for part, starts in _PARTS.items() if name.startswith(starts)), name)
        parts[part] = parts.get(part, 0) + array.nbytes
    parts["header and padding"] = size - sum(parts.values())
    rows = [{"part": part, "bytes": count} for part, count in parts.items() if count]
    return sorted(rows, key=lambda row: -row["bytes"])
