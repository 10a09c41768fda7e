import numpy as np
import pyarrow as pa

from cbnet.matching.minimal_sets import minimal
from cbnet_lab.bench.matching.minimal import are_minimal
from cbnet_lab.workload.tag_traffic import tag_sets


def test_the_second_method_confirms_a_generated_sample():
    sets = tag_sets(20_000, tags=2000, seed=4)
    rows = np.arange(0, 20_000, 40)
    kept = minimal(sets)
    assert (are_minimal(sets, rows) == np.isin(rows, kept)).all()
    assert 0 < len(kept) < 20_000


def test_the_second_method_is_brute_force():
    sets = [[0, 1], [2], [1, 0], [0, 2], [3, 1, 4], [4, 3, 1, 5], [2]]
    rows = np.arange(len(sets))
    found = are_minimal(pa.array(sets, pa.list_(pa.int32())), rows)
    assert np.flatnonzero(found).tolist() == [0, 1, 4]
