"""Forwarding table that the pipeline computed for a router, for the first tree: its content when the router starts.

    tables/4.cbt     interface 13: #jazz and #vinyl, …      what the side of each neighbour wants

A neighbour that computes the same content for its side sends nothing: see `announce.retained_contents`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cbnet.errors import InputError
from cbnet.matching import Table
from cbnet.network.protocol.filter_codec import filter_to_bytes


def read_computed_table(path: Path, nodes: Sequence[str]) -> dict[str, list[bytes]]:
    """Return the filters of each interface, encoded, by the name of the neighbour; nodes: all names, by id."""
    table: Table[int] = Table.open(path, verify=True)
    filters: dict[str, list[bytes]] = {}
    for interface in table:
        if not isinstance(interface, int) or not 0 <= interface < len(nodes):
            problem = f"the table has an interface {interface!r}, which is no node of the network"
            raise InputError(problem, hint="run the pipeline again", file=str(path))
        filters[nodes[interface]] = list(map(filter_to_bytes, table[interface]))
    return filters
