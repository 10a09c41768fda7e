"""Small tables whose ranges lie in small blocks, which else only large tables have."""

from contextlib import contextmanager
from unittest import mock

from cbnet.matching.engines import blocks


@contextmanager
def forced_blocks(filters=3):
    """Build pivot indexes with every filter that has a range in a block of at most so many filters."""
    with mock.patch.object(blocks, "READ_MARK", 1e12), mock.patch.object(blocks, "MAX_FILTERS", filters):
        yield
