"""What a node has before any client subscribes, in a network made from data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cbnet.language.predicate import Predicate


@dataclass(frozen=True)
class NodeData:
    """The predicate of the node itself, which belongs to no client, and the computed table of its router."""

    predicate: Predicate = field(default_factory=Predicate)
    table: Mapping[str, Iterable[bytes]] = field(default_factory=dict)  # encoded filters by neighbour


NO_DATA = NodeData()
