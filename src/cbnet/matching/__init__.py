"""Matching: which interfaces does this message match?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbnet.matching.explain import Explanation, Failure, NearMiss
from cbnet.matching.table import Interface, Table

if TYPE_CHECKING:
    from cbnet.matching.live_table import LiveTable

__all__ = ["Explanation", "Failure", "Interface", "LiveTable", "NearMiss", "Table"]


def __getattr__(name: str) -> object:
    if name == "LiveTable":  # asked for late: it needs numpy, which `import cbnet` does without
        from cbnet.matching.live_table import LiveTable

        return LiveTable
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
