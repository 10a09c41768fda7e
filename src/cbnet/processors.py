"""The number of processors that this process may use."""

from __future__ import annotations

import os


def available_processors() -> int:
    """Return how many processors this process may use; all of the machine where the system has no affinity."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
