"""Forwarding table that the pipeline computed for a router, for the first tree: its content when the router starts.

    tables/4.cbt     interface 13: #jazz and #vinyl, …      what the side of each neighbour wants

A neighbour that computes the same content for its side sends nothing: see `announce.retained_contents`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cbnet.errors import InputError
from cbnet.language.syntax.byte_form import filter_to_bytes, tags_to_bytes
from cbnet.matching.files.rule_files import read_columns
from cbnet.matching.storage.codes import SYMBOL_SHIFT, TEST_SHIFT, Test
from cbnet.matching.storage.columns import Columns

_TEST_MASK = 0x3F


def read_computed_table(path: Path, nodes: Sequence[str]) -> dict[str, list[bytes]]:
    """Return the filters of each interface, encoded, by the name of the neighbour; nodes: all names, by id."""
    columns = read_columns(path)[0]
    for interface in columns.interfaces:
        if not isinstance(interface, int) or not 0 <= interface < len(nodes):
            problem = f"the table has an interface {interface!r}, which is no node of the network"
            raise InputError(problem, hint="run the pipeline again", file=str(path))
    by_target: list[list[bytes]] = [[] for _ in columns.interfaces]
    for target, encoded in zip(columns.targets.tolist(), _encoded(columns), strict=True):
        by_target[target].append(encoded)
    return {nodes[int(name)]: filters for name, filters in zip(columns.interfaces, by_target, strict=True)}


def _encoded(columns: Columns) -> list[bytes]:
    """Return the encoded filters; those of tags only, the most frequent ones, without an object for each."""
    words = np.asarray(columns.words)
    symbols = (words >> SYMBOL_SHIFT).tolist()
    others = np.flatnonzero((words >> TEST_SHIFT & _TEST_MASK) != Test.TAG)
    with_others = set((np.searchsorted(columns.offsets, others, "right") - 1).tolist())
    texts = {symbol: columns.symbols[symbol] for symbol in set(symbols)}
    ends = np.asarray(columns.offsets).tolist()
    return [
        filter_to_bytes(columns.filter(row))
        if row in with_others
        else tags_to_bytes(sorted([texts[symbol] for symbol in symbols[ends[row] : ends[row + 1]]]))
        for row in range(len(columns))
    ]
