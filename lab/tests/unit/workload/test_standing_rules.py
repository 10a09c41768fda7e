import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from cbnet.matching import Table
from cbnet_lab.workload.standing_rules import Records, fitted_limit, standing_filters


@pytest.fixture(scope="module")
def kinds():
    rng = np.random.default_rng(1)
    flights = pa.table(
        {
            "dest": pa.array([f"city {number}" for number in rng.integers(50, size=3000)]),
            "delay": pa.array(rng.integers(500, size=3000), mask=rng.random(3000) < 0.1),
            "distance": pa.array(rng.integers(2000, size=3000)),
        }
    )
    quotes = pa.table({"symbol": [f"S{number % 40}" for number in range(1000)], "price": rng.random(1000) * 100})
    return [flights, quotes]


@pytest.fixture(scope="module")
def filters(kinds):
    return standing_filters([Records(kind) for kind in kinds], 2000, 1e-2, seed=3)


def test_there_are_as_many_filters_as_asked_for_of_two_to_four_constraints(filters):
    sizes = np.bincount(filters["filter"].to_numpy())
    assert len(sizes) == 2000
    assert {*sizes} <= {2, 3, 4}
    assert filters["rule"].equals(filters["filter"])
    assert {*filters["op"].to_pylist()} == {"=", "<=", ">=", "^="}


def test_every_filter_matches_a_record(filters, kinds):
    records = pa.concat_tables(kinds, promote_options="default").combine_chunks().to_batches()[0]
    found = Table.from_arrow(filters, reduce=False).match_frame(records)
    assert len(pc.list_flatten(found).unique()) == 2000


def test_filters_of_a_kind_ask_for_attributes_of_one_record_only(filters):
    by_filter = {}
    for row in filters.to_pylist():
        by_filter.setdefault(row["filter"], set()).add(row["name"])
    assert all(names <= {"dest", "delay", "distance"} or names <= {"symbol", "price"} for names in by_filter.values())


def test_the_same_seed_draws_the_same(filters, kinds):
    records = [Records(kind) for kind in kinds]
    assert standing_filters(records, 2000, 1e-2, seed=3).equals(filters)
    assert not standing_filters(records, 2000, 1e-2, seed=4).equals(filters)


def test_the_limit_is_fitted_to_the_matches_of_a_record(kinds):
    records = [Records(kind) for kind in kinds]
    sample = pa.concat_tables(kinds, promote_options="default").combine_chunks().to_batches()[0]
    limit = fitted_limit(records, sample, 2000, 10.0, drawn=2000)
    found = Table.from_arrow(standing_filters(records, 2000, limit, 9), reduce=False).match_frame(sample)
    assert 5 <= len(pc.list_flatten(found)) / sample.num_rows <= 20
