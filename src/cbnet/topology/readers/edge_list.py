"""Reader of edge lists, one edge per line.

    a b          an edge of length 1
    a b 2.5      an edge of length 2.5
    a,b,2.5      with commas, names may contain spaces

Text from # to the end of a line and empty lines are ignored.
"""

from __future__ import annotations

from cbnet.errors import InputError
from cbnet.topology.graph.edges import EdgeSet


def read_edge_list(text: str, edges: EdgeSet) -> None:
    """Add the edges that a text lists."""
    for number, line in enumerate(text.split("\n"), 1):
        row = line.partition("#")[0].strip()
        if not row:
            continue
        fields = [field.strip() for field in row.split(",")] if "," in row else row.split()
        if len(fields) in (2, 3) and all(fields):
            edges.add(*fields, line=number)
        else:
            hint = "write two names and, if it is not 1, the weight: a b 2.5"
            edges.mistake(InputError(f"{row!r} is not an edge", hint=hint), number)
