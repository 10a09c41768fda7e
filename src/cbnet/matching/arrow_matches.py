"""Arrow results: which rows of a record batch go to which interfaces, as columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cbnet.matching.compiled_table import Compiled
from cbnet.matching.storage.arrow_messages import encode_batch


def matches_as_arrow(compiled: Compiled, batch: pa.RecordBatch, threads: int) -> pa.RecordBatch:
    """Match the rows of a batch; return `row` (int64, from 0) and `interface`, sorted by both."""
    encoded, kept = encode_batch(batch, compiled.symbols)
    offsets, targets, _ = compiled.match_batch(encoded, threads)
    del kept
    rows = np.repeat(np.arange(len(encoded)), np.diff(offsets))
    return pa.RecordBatch.from_arrays([pa.array(rows), _labels(compiled).take(pa.array(targets))], ["row", "interface"])


def _labels(compiled: Compiled) -> pa.Array:
    """Return the interfaces as an array: int64, or strings; ints beside strings become strings."""
    ints = compiled.arrays["label_ints"]
    if len(ints) == compiled.about["interfaces"]:
        return pa.array(ints)
    return pa.array([str(label) for label in compiled.labels], pa.string())
