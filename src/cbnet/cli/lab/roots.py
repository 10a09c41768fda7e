"""Roots: from which nodes are the trees of a command grown?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.topology import Graph


def chosen_roots(graph: Graph, count: int | None, named: Sequence[str], seed: int) -> list[int]:
    """Return the roots that are named, or else as many as are asked for, by default one, drawn by class."""
    from cbnet.topology import draw_roots, root_classes

    if named and count is not None:
        raise InputError("--trees and --root are both given", hint="give one of them")
    if named:
        return [graph.id(name) for name in named]
    drawn: list[int] = draw_roots(root_classes(graph), count or 1, seed=seed).tolist()
    return drawn
