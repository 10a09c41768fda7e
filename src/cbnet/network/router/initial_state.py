"""InitialState: what is one router given when a network starts that was made from data?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from cbnet.errors import InputError
from cbnet.network.announce.initial_predicates import InitialPredicates
from cbnet.network.announce.initial_table import InitialTable, check_table
from cbnet.network.announce.node_predicates import NodePredicates
from cbnet.network.link.settings import Settings
from cbnet.network.linkstate.view import View


@dataclass(frozen=True)
class InitialState:
    """The predicates of all nodes, the first table of one router if it has one, and its life if that is chosen."""

    loaded: InitialPredicates | None = None
    first: InitialTable | None = None
    life: int | None = None

    def loaded_by(self, name: str, life: int) -> InitialPredicates | None:
        """Return the predicates, with another life of a router that is not started for the first time."""
        if self.loaded is None or self.loaded.lives[name] == life:
            return self.loaded
        return replace(self.loaded, lives={**self.loaded.lives, name: life})


EMPTY_STATE = InitialState()


def open_initial_table(path: Path, settings: Settings, loaded: InitialPredicates) -> InitialTable:
    """Open the table that was made for a router, and check it against the records; raise what is wrong with it."""
    behind = View(settings, loaded.edges, NodePredicates(loaded)).behind()
    if behind is None:
        hint = "start the network with --scheme multitree, or leave the table out"
        raise InputError(f"a table is of trees, and the scheme is {settings.scheme}", hint=hint, file=str(path))
    return check_table(path, loaded, behind)
