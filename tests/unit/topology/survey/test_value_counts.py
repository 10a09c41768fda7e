import numpy as np
import pytest

from cbnet.topology.survey.value_counts import ValueCounts


def of(*values):
    return ValueCounts.of(np.array(values, dtype=np.int64))


@pytest.mark.parametrize("values", [(3, 1, 3, 0), (7,), (5, 10**15, 5)])
def test_values_are_counted(values):
    found = of(*values)
    assert dict(zip(found.values.tolist(), found.counts.tolist(), strict=True)) == {v: values.count(v) for v in values}
    assert found.values.tolist() == sorted({*values})
    assert found.size == len(values)
    assert found.mean == pytest.approx(sum(values) / len(values))


def test_parts_make_the_whole():
    whole = ValueCounts.merged([of(3, 1), of(), of(1, 1, 10**12)])
    assert (whole.values.tolist(), whole.counts.tolist()) == ([1, 3, 10**12], [3, 1, 1])


def test_percentiles_are_values_by_hand():
    # of ten values, the 1st to 10th percentile is the first, the 11th to 20th the second …
    counts = of(*range(10, 20))
    assert counts.percentiles([1, 10, 11, 50, 90, 91, 99, 100]) == [10, 10, 11, 14, 18, 19, 19, 19]


def test_percentiles_are_those_of_numpy():
    values = np.random.default_rng(0).zipf(1.5, 997) % 1000
    asked = range(1, 100)
    assert ValueCounts.of(values).percentiles(asked) == np.percentile(values, asked, method="inverted_cdf").tolist()


def test_without_values_all_is_nothing():
    empty = ValueCounts.merged([])
    assert (empty.size, empty.mean, empty.percentiles([1, 99])) == (0, 0, [0, 0])
