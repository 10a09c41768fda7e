"""Initial state of a router in a network that a pipeline computed."""

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
    """The predicates of all nodes, the compiled table of one router, and its life, as far as they are given."""

    predicates: InitialPredicates | None = None
    table: InitialTable | None = None
    life: int | None = None

    def predicates_for(self, name: str, life: int) -> InitialPredicates | None:
        """Return the predicates, with the present life of a router that was restarted."""
        if self.predicates is None or self.predicates.lives[name] == life:
            return self.predicates
        return replace(self.predicates, lives={**self.predicates.lives, name: life})


EMPTY_STATE = InitialState()


def open_initial_table(path: Path, settings: Settings, predicates: InitialPredicates) -> InitialTable:
    """Open the table compiled for a router and check it against the records; raise an `InputError` if it differs."""
    behind = View(settings, predicates.edges, NodePredicates(predicates)).nodes_behind()
    if behind is None:
        hint = "start the network with --scheme multitree, or without the table"
        raise InputError(
            f"a compiled table needs the scheme multitree, not {settings.scheme}", hint=hint, file=str(path)
        )
    return check_table(path, predicates, behind)
