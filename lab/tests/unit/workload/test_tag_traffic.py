import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from cbnet import InputError
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet_lab.workload.distributions import zipf_weights
from cbnet_lab.workload.tag_traffic import TagTraffic, distinct_tags, tag_sets


def sizes_of(filters):
    return np.bincount(filters["filter"].to_numpy())


def test_descriptors_have_one_to_six_distinct_tags_and_an_interface_each():
    filters = TagTraffic(3000, seed=1).filters()
    sizes = sizes_of(filters)
    assert len(sizes) == 3000
    assert set(sizes.tolist()) == {1, 2, 3, 4, 5, 6}
    assert np.bincount(sizes)[1:].min() > 400  # equally likely: 500 of each; 5 standard deviations are 102
    pairs = set(zip(filters["filter"].to_pylist(), filters["name"].to_pylist(), strict=True))
    assert len(pairs) == filters.num_rows
    assert set(filters["op"].to_pylist()) == {"#"}
    assert filters["rule"].equals(filters["filter"])


def test_interfaces_share_the_descriptors_and_each_has_one():
    filters = TagTraffic(500, 40, seed=2).filters()
    assert set(filters["rule"].to_pylist()) == set(range(40))
    assert len(columns_from_arrow(filters)) == 500


def test_messages_have_four_to_fifteen_distinct_tags():
    batch = TagTraffic(1, messages=3000, seed=3).message_batch()
    rows = batch.column(0).to_pylist()
    assert batch.schema.names == ["#"]
    assert {len(row) for row in rows} == set(range(4, 16))
    assert all(len(set(row)) == len(row) for row in rows)
    assert rows != [sorted(row) for row in rows]


def test_the_same_seed_gives_the_same_and_the_number_of_messages_leaves_the_descriptors():
    one, other = TagTraffic(200, messages=5, seed=4), TagTraffic(200, messages=9, seed=4)
    assert one.filters().equals(other.filters())
    assert one.message_batch().equals(TagTraffic(99, messages=5, seed=4).message_batch())
    assert not one.filters().equals(TagTraffic(200, messages=5, seed=5).filters())


def test_tags_follow_zipf():
    sets = tag_sets(50_000, tags=1000, seed=5)
    # A single tag is drawn once: rank r has 1 / r of the share of rank 1, which is 1 / 7.485, the harmonic number of 1000.
    lengths = pc.list_value_length(sets).to_numpy()
    singles = sets.flatten().to_numpy()[sets.offsets.to_numpy()[:-1][lengths == 1]]
    counts = np.bincount(singles, minlength=4)
    for rank in (1, 2, 3):
        share = 1 / rank / 7.485
        assert counts[rank - 1] == pytest.approx(share * len(singles), abs=6 * np.sqrt(share * len(singles)))


def test_sets_have_one_to_ten_tags_and_3_2_on_average():
    sets = tag_sets(100_000, tags=10_000, seed=6)
    assert sets.type == pa.list_(pa.int32())
    lengths = pc.list_value_length(sets).to_numpy()
    assert (lengths.min(), lengths.max()) == (1, 10)
    assert lengths.mean() == pytest.approx(3.2, abs=6 * lengths.std() / np.sqrt(len(lengths)))
    assert all(len(set(row)) == len(row) for row in sets[:2000].to_pylist())


def test_two_distinct_tags_are_as_likely_as_drawing_until_they_differ():
    # Of weights 1, 1/2, 1/3 (6 : 3 : 2 of 11): {1, 2} comes from 1 then 2, or 2 then 1: 6/11 · 3/5 + 3/11 · 6/8 = 0.5318
    offsets, tags = distinct_tags(np.random.default_rng(7), zipf_weights(3, 1.0), np.full(20_000, 2))
    assert offsets.tolist() == list(range(0, 40_001, 2))
    pairs = np.sort(tags.reshape(-1, 2), axis=1)
    assert np.mean((pairs == [0, 1]).all(axis=1)) == pytest.approx(0.5318, abs=6 * np.sqrt(0.25 / 20_000))


def test_a_set_may_have_all_tags():
    _, tags = distinct_tags(np.random.default_rng(8), zipf_weights(4, 1.0), np.array([4, 1, 4]))
    assert sorted(tags[:4].tolist()) == sorted(tags[5:].tolist()) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: TagTraffic(0), "descriptors must be an integer of at least 1"),
        (lambda: TagTraffic(5, 6), "I = 6 interfaces cannot share F = 5 filters"),
        (lambda: TagTraffic(5, tags=10), "there are only 10 names"),
        (lambda: TagTraffic(5, in_message=(5, 4)), "is an empty range"),
        (lambda: TagTraffic(5, zipf=-1.0), "zipf must be from 0"),
        (lambda: TagTraffic(5, seed=-1), "seed must be an integer"),
        (lambda: tag_sets(0), "sets must be an integer"),
        (lambda: tag_sets(5, tags=9), "tags must be an integer of at least 10"),
    ],
)
def test_a_workload_that_makes_no_sense_is_refused(make, problem):
    with pytest.raises(InputError, match=problem):
        make()
