"""Measurements of one engine, in the order of their JSON members."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class EngineResult:
    """Measurements of an engine; None where one does not apply."""

    engine: str
    filters: int
    interfaces: int
    constraints: int
    build_s: float  # from an Arrow table
    bytes_per_constraint: float | None  # of the file, without reduction
    us_single: float  # all times are per message
    us_batch: float | None
    us_batch_2threads: float | None
    us_json_loads: float | None
    touched: float | None  # entries or postings read after the look-up, per message
    matched: float  # interfaces per message
    equal: bool
    speedup_2threads: float | None = None  # of the batch, over one thread
    speedup_2processes: float | None = None  # of the same work, over one process: the upper bound
    differences: tuple[str, ...] = ()  # what disagrees; empty if equal

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        members = asdict(self)
        del members["differences"]
        return {name: round(value, 3) if isinstance(value, float) else value for name, value in members.items()}
