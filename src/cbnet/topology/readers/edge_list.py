"""Edge lists: which edges does a text name, one to a line?

    a b          an edge of length 1
    a b 2.5      with its weight
    a,b,2.5      with commas, names may hold blanks

From # to the end of a line all is ignored; so are empty lines.
"""

from __future__ import annotations

from cbnet.errors import InputError
from cbnet.topology.graph.edges import EdgeSet


def read_edge_list(text: str, edges: EdgeSet) -> None:
    """Add the edges that a text lists."""
    for number, line in enumerate(text.split("\n"), 1):
        said = line.partition("#")[0].strip()
        if not said:
            continue
        fields = [field.strip() for field in said.split(",")] if "," in said else said.split()
        if len(fields) in (2, 3) and all(fields):
            edges.add(*fields, line=number)
        else:
            hint = "write two names and, if it is not 1, the weight: a b 2.5"
            edges.mistake(InputError(f"{said!r} is not an edge", hint=hint), number)
