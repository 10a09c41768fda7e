"""The routing of a live network in a benchmark: a number of shared trees, or a tree for each source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cbnet.errors import InputError
from cbnet.network.protocol.fields import MAX_TREES

_PER_SOURCE = "pif"


@dataclass(frozen=True)
class Routing:
    """The trees of a network."""

    trees: int | None  # None: one for each source

    def __str__(self) -> str:
        return _PER_SOURCE if self.trees is None else str(self.trees)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of each router."""
        return {"scheme": _PER_SOURCE} if self.trees is None else {"scheme": "multitree", "trees": self.trees}

    @classmethod
    def of(cls, option: str, text: str) -> Routing:
        """Return the routing of an option such as 4 or pif; option: its name."""
        if text == _PER_SOURCE:
            return cls(None)
        if not (text.isascii() and text.isdigit() and 1 <= len(text) <= 3 and 1 <= int(text) <= MAX_TREES):
            hint = f"write numbers from 1 to {MAX_TREES}, or {_PER_SOURCE} for a tree of each source"
            raise InputError(f"{option}: {text!r} is not a number of trees", hint=hint)
        return cls(int(text))
