"""Reader of CAIDA files of AS relations.

    a|b|-1            a is a provider of b
    a|b|0             they are peers
    a|b|1, a|b|2      they are siblings
    a|b|-1|source     in the second series of these files, with the origin of the fact

Lines that begin with # are comments. Every edge has length 1.
"""

from __future__ import annotations

import re

from cbnet.errors import InputError
from cbnet.topology.graph.edges import EdgeSet, Relation

_AS_NUMBER = re.compile("[0-9]{1,10}")
_RELATIONS = {"-1": Relation.CUSTOMER, "0": Relation.PEER, "1": Relation.SIBLING, "2": Relation.SIBLING}


def read_as_relations(text: str, edges: EdgeSet) -> None:
    """Add the edges between ASes that a text lists."""
    for number, line in enumerate(text.split("\n"), 1):
        row = line.strip()
        if not row or row.startswith("#"):
            continue
        fields = row.split("|")
        if len(fields) not in (3, 4) or not all(map(_AS_NUMBER.fullmatch, fields[:2])):
            hint = "write two AS numbers and their relation: 174|3705|-1"
            edges.mistake(InputError(f"{row!r} is not a relation between ASes", hint=hint), number)
        elif fields[2] not in _RELATIONS:
            hint = "write -1 (the first is a provider of the second), 0 (peers), 1 or 2 (siblings)"
            edges.mistake(InputError(f"unknown relation {fields[2]!r}", hint=hint), number)
        else:
            edges.add(int(fields[0]), int(fields[1]), relation=_RELATIONS[fields[2]], line=number)
