import pytest
from support.crowds import columns

from cbnet.errors import InputError
from cbnet.lab.experiments.y2006.advantage import GENERAL_COUNTS, counts_up_to, general, specific
from cbnet.lab.experiments.y2006.monte_carlo import (
    PERCENTILES,
    advantage_percentiles,
    general_advantages,
    specific_advantages,
)
from cbnet.pipeline.schemas import ADVANTAGES


def told(rows):
    return {(row["scenario"], row["rule"], row["predicates"]): row for row in rows}


def check(frame, expected):
    assert columns(frame.schema) == columns(ADVANTAGES)
    found, wanted = told(row.asDict() for row in advantage_percentiles(frame).collect()), told(expected.to_pylist())
    assert found.keys() == wanted.keys()
    for key, row in wanted.items():
        for measure in (*PERCENTILES, "sets"):
            assert found[key][measure] == pytest.approx(row[measure], rel=1e-12)


def test_the_specific_model_is_that_of_one_process(spark):
    chosen = {"sets": 3, "seed": 4}
    found = specific_advantages(spark, counts_up_to(50), scenarios=["zipf-500", "uniform-50"], **chosen)
    check(found, specific(["zipf-500", "uniform-50"], most=50, processes=1, **chosen))


def test_the_general_model_is_that_of_one_process(spark):
    found = general_advantages(spark, GENERAL_COUNTS, [1000], sets=3, seed=4)
    check(found, general([1000], sets=3, seed=4, processes=1))


def test_scenarios_must_be_known_and_sets_at_least_one(spark):
    with pytest.raises(InputError, match="unknown scenario 'zipf'"):
        specific_advantages(spark, [1], scenarios=["zipf"])
    with pytest.raises(InputError, match="at least one set"):
        general_advantages(spark, [1], [1000], sets=0)
