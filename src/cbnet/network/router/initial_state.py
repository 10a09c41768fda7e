"""Beginning: what is one router given when a network starts that was made from data?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from cbnet.errors import InputError
from cbnet.network.announce.initial_predicates import Loaded
from cbnet.network.announce.initial_table import FirstTable, checked_table
from cbnet.network.announce.node_predicates import NodePredicates
from cbnet.network.link.settings import Settings
from cbnet.network.linkstate.view import View


@dataclass(frozen=True)
class Beginning:
    """The predicates of all nodes, the first table of one router if it has one, and its life if that is chosen."""

    loaded: Loaded | None = None
    first: FirstTable | None = None
    life: int | None = None

    def loaded_by(self, name: str, life: int) -> Loaded | None:
        """Return the predicates, with another life of a router that is not started for the first time."""
        if self.loaded is None or self.loaded.lives[name] == life:
            return self.loaded
        return replace(self.loaded, lives={**self.loaded.lives, name: life})


NOTHING = Beginning()


def first_table(path: Path, settings: Settings, loaded: Loaded) -> FirstTable:
    """Open the table that was made for a router, and check it against the records; raise what is wrong with it."""
    behind = View(settings, loaded.edges, NodePredicates(loaded)).behind()
    if behind is None:
        hint = "start the network with --scheme multitree, or leave the table out"
        raise InputError(f"a table is of trees, and the scheme is {settings.scheme}", hint=hint, file=str(path))
    return checked_table(path, loaded, behind)
