"""Process times: how many seconds of processor time have a process and those that it started used?

Times of the wall say little on a machine that others use, too; these are a program's own.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Used:
    """Seconds of processor time."""

    own: float
    started: float  # of all processes that were started, by it or by them, the ended ones too

    def __sub__(self, other: Used) -> Used:
        return Used(self.own - other.own, self.started - other.started)


def used_by(process: int) -> Used:
    """Return what a process has used so far."""
    stats = _stats()
    children: dict[int, list[int]] = {}
    for number, (parent, _, _) in stats.items():
        children.setdefault(parent, []).append(number)
    waiting, started = children.get(process, []), 0.0
    while waiting:
        number = waiting.pop()
        _, own, ended = stats[number]
        started += own + ended
        waiting += children.get(number, [])
    return Used(stats[process][1], started)


def _stats() -> dict[int, tuple[int, float, float]]:
    """Return for each process its parent, its own seconds, and those of its children that have ended."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        user, system, ended_user, ended_system = (int(fields[place]) / _TICKS for place in range(11, 15))
        found[int(folder.name)] = (int(fields[1]), user + system, ended_user + ended_system)
    return found
