"""Standing limit: how rarely must a standing filter match, so that a record has as many matches as are wanted?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cbnet.lab.workload.standing_rules import Records, standing_filters
from cbnet.matching.table import Table

_STEPS = 8
_CLOSE = 1.25  # a factor


def fitted_limit(
    kinds: Sequence[Records], sample: pa.RecordBatch, count: int, wanted: float, *, drawn: int = 20_000, seed: int = 0
) -> float:
    """Return the limit with which a record of the sample matches about `wanted` of `count` filters.

    The estimate of `standing` takes constraints for independent, which those of real records are not: so some filters
    are drawn and matched, and the limit is moved by what is found.
    """
    limit = wanted / count
    for step in range(_STEPS):
        filters = standing_filters(kinds, drawn, limit, seed + step)
        found = Table.from_arrow(filters, reduce=False).match_arrow(sample).num_rows
        matches = found / sample.num_rows * count / drawn
        if 1 / _CLOSE <= matches / wanted <= _CLOSE:
            break
        limit *= float(np.clip(wanted / max(matches, 1e-9), 0.05, 20))
    return limit
