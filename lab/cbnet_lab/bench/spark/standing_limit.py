"""The selectivity limit of standing rules at which a record has a target number of matches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet.matching.table import Table
from cbnet_lab.workload.standing_rules import Records, standing_filters

_STEPS = 8
_TOLERANCE = 1.25  # a factor


def fitted_limit(
    kinds: Sequence[Records], sample: pa.RecordBatch, count: int, matches: float, *, drawn: int = 20_000, seed: int = 0
) -> float:
    """Return the limit with which a record of the sample matches about `matches` of `count` filters.

    `standing_filters` estimates selectivity as if constraints were independent, which they are not in real records: so
    some filters are drawn and matched, and the limit is corrected by the result.
    """
    limit = matches / count
    for step in range(_STEPS):
        filters = standing_filters(kinds, drawn, limit, seed + step)
        found = len(pc.list_flatten(Table.from_arrow(filters, reduce=False).match_frame(sample)))
        actual = found / sample.num_rows * count / drawn
        if 1 / _TOLERANCE <= actual / matches <= _TOLERANCE:
            break
        limit *= float(np.clip(matches / max(actual, 1e-9), 0.05, 20))
    return limit
