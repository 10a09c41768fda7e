"""Tables of rules, matched against messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbnet.matching.explain import Explanation, Failure, NearMiss
from cbnet.matching.rule import Rule, RuleName
from cbnet.matching.table import Table

if TYPE_CHECKING:
    from cbnet.matching.live_table import LiveTable

__all__ = ["Explanation", "Failure", "LiveTable", "NearMiss", "Rule", "RuleName", "Table"]


def __getattr__(name: str) -> object:
    if name == "LiveTable":  # imported on first use: it needs numpy, which `import cbnet` does not load
        from cbnet.matching.live_table import LiveTable

        return LiveTable
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
