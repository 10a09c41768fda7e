"""CPU: how much time of the processors have processes used?"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

Used = Mapping[int, float | None]  # seconds by process; None where the system does not tell


def cpu_seconds(pid: int) -> float | None:
    """Return the seconds of a process, its own and the system's for it."""
    fields = _fields(pid)
    return None if fields is None else (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_of(pids: Iterable[int]) -> Used:
    """Return the seconds of several processes."""
    return {pid: cpu_seconds(pid) for pid in pids}


def used_since(before: Used, pids: Iterable[int]) -> list[float]:
    """Return the seconds that each process has used since then, as far as the system tells."""
    now = cpu_of(pids)
    return [after - then for pid, after in now.items() if after is not None and (then := before.get(pid)) is not None]


def session(leader: int) -> list[int]:
    """Return the processes of the session that a process leads: those that it has started, and theirs."""
    found = [leader]
    for path in Path("/proc").glob("[0-9]*"):
        fields = _fields(int(path.name))
        if fields is not None and int(fields[3]) == leader and int(path.name) != leader:
            found.append(int(path.name))
    return found


def _fields(pid: int) -> list[str] | None:
    """Return what the system says of a process, from its state on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
