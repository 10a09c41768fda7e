"""Seeds of random tests: other ones in every run, so that runs together try more; `CBNET_TEST_SEED` repeats a run.

`conftest.py` of the repository draws the first seed, for all test processes.
"""

import os


def seeds(count):
    """Return so many seeds."""
    first = int(os.environ["CBNET_TEST_SEED"])
    return range(first, first + count)
