"""Table statistics: what does a compiled table hold, and where do its bytes go?

All is counted by numpy over the columns of the table: no Python object per filter.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.matching.engines import selectivity_table as determinants
from cbnet.matching.storage.codes import SYMBOL_SHIFT, TEST_SHIFT, TESTS, Test
from cbnet.matching.storage.columns import lengths_of
from cbnet.matching.storage.table_file import VERSION

if TYPE_CHECKING:
    from cbnet.matching.compiled_table import Compiled
    from cbnet.matching.storage.columns import Array, Columns

Row = dict[str, Any]
_TOP = 10

# part of a table -> how the names of its arrays begin
_PARTS = {
    "names and tags": ("symbol_", "tested", "pivoted"),
    "interfaces": ("label_",),
    "numbers": ("number_",),
    "strings": ("string_",),
    "prefixes, suffixes, substrings": ("prefix_", "suffix_", "substring_"),
    "filters under hashed pivots": ("slots", "bucket_"),
    "filters under ordered pivots": ("list_", "listed_", "single_bounds", "entry_bounds"),
    "other constraints of filters": ("words",),
    "interfaces that share filters": ("group_",),
    "descriptors under their rarest tags": ("set_",),
    "interfaces of common tags, united": ("union_",),
    "Bloom filters of descriptors": ("bloom_",),
    "descriptors, to be read back": ("aside_",),
    "index of constraints": ("branches", "operands"),
    "tries of strings": ("nodes", "entries"),
    "postings of constraints": ("posting_",),
    "sizes of filters": ("sizes", "large_"),
    "selectivity table": ("determinants", "dense", "sparse", "silent"),
    "interfaces of empty filters": ("always",),
    "covered filters, kept aside": ("covered_",),
}
_SAID = {Test.EXISTS: ("any", "exists"), Test.TAG: ("tag", "#")}
_SAID |= {test: (str(kind), op.value) for (op, kind), test in reversed(TESTS.items()) if kind is not None}


def table_statistics(compiled: Compiled, size: int) -> Row:
    """Return what can be said of a table, whose file has that size, as the members of a JSON object."""
    columns, about = compiled.columns, compiled.about
    return {
        "engine": compiled.engine,
        "version": VERSION,
        "interfaces": about["interfaces"],
        "filters": about["filters"],
        "constraints": about["constraints"],
        "bytes": size,
        "bytes_per_constraint": round(size / max(1, about["constraints"]), 1),
        "reduction": _reduction(about, len(columns)),
        "distinct": _distinct(columns),
        "filter_kinds": _filter_kinds(columns),
        "filter_sizes": _filter_sizes(columns),
        "tests": _tests(columns),
        "top_names": _top(columns, 0, columns.names),
        "top_tags": _top(columns, columns.names, len(columns.symbols)),
        "determinants": _determinants(columns),
        "parts": _parts(compiled.arrays, size),
    }


def _reduction(about: Row, stored: int) -> Row:
    """Return how many filters messages are matched against, and why not the others."""
    covered, repeated = about["covered"], about["filters"] - stored
    return {"covered": covered, "repeated": repeated, "matched_against": about["filters"] - covered - repeated}


def _distinct(columns: Columns) -> Row:
    tags = len(columns.symbols) - columns.names
    return {"names": columns.names, "tags": tags, "numbers": len(columns.numbers), "strings": len(columns.strings)}


def _filter_kinds(columns: Columns) -> Row:
    """Return how many filters match always, have a single constraint, or have more."""
    always, single, other = np.bincount(np.minimum(lengths_of(columns.offsets), 2), minlength=3).tolist()
    return {"always": always, "single": single, "other": other}


def _filter_sizes(columns: Columns) -> list[Row]:
    sizes, counts = np.unique(lengths_of(columns.offsets), return_counts=True)
    pairs = zip(sizes.tolist(), counts.tolist(), strict=True)
    return [{"constraints": size, "filters": count} for size, count in pairs]


def _tests(columns: Columns) -> list[Row]:
    """Return the number of constraints by type and operator, the commonest first."""
    tests = (columns.words >> np.uint64(TEST_SHIFT) & np.uint64(63)).astype(np.int64)
    counts = np.bincount(tests, minlength=len(Test)).tolist()
    rows = [{"type": _SAID[test][0], "operator": _SAID[test][1], "constraints": counts[test]} for test in Test]
    return sorted((row for row in rows if row["constraints"]), key=lambda row: -row["constraints"])


def _top(columns: Columns, first: int, end: int) -> list[Row]:
    """Return the names, or the tags, that most constraints bear on."""
    counts = np.bincount(_symbols(columns), minlength=len(columns.symbols))[first:end]
    places = np.argsort(-counts, kind="stable")[:_TOP].tolist()
    return [{"name": columns.symbols[first + place], "constraints": int(counts[place])} for place in places]


def _determinants(columns: Columns) -> list[Row]:
    """Return the first rows of the selectivity table: what excludes most interfaces if a message lacks it."""
    table = determinants.rows(determinants.build(columns))
    return [
        {"name": columns.symbols[symbol], "is_tag": symbol >= columns.names, "interfaces": len(interfaces)}
        for symbol, interfaces in islice(table, _TOP)
    ]


def _parts(arrays: dict[str, Array], size: int) -> list[Row]:
    """Return the bytes of each part, the largest first; what belongs to none is counted by its own name."""
    parts: dict[str, int] = {}
    for name, array in arrays.items():
        part = next((part for part, starts in _PARTS.items() if name.startswith(starts)), name)
        parts[part] = parts.get(part, 0) + array.nbytes
    parts["header and padding"] = size - sum(parts.values())
    rows = [{"part": part, "bytes": count} for part, count in parts.items() if count]
    return sorted(rows, key=lambda row: -row["bytes"])


def _symbols(columns: Columns) -> Array:
    return (columns.words >> np.uint64(SYMBOL_SHIFT)).astype(np.int64)
