"""Live tables that merge their levels very often."""

from contextlib import contextmanager

import pytest

from cbnet.matching import level, live_table, memtable


@contextmanager
def merging_often(max_filters):
    """Let a table merge as soon as it has this many new filters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memtable, "MAX_FILTERS", max_filters)
        patch.setattr(live_table, "GROWTH", 1)
        patch.setattr(live_table, "MIN_MERGE", 8)
        patch.setattr(level, "MIN_REMOVALS", 4)
        yield patch
