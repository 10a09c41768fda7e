"""The benchmark, on a few records."""

import pytest

from cbnet.errors import InputError
from cbnet_lab.bench.plans import SparkPlan
from cbnet_lab.bench.spark_matching import speed

QUOTES = "[class,'STOCK'],[symbol,'{symbol}'],[open,{open}],[volume,{volume}]\n"


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    lines = [QUOTES.format(symbol=f"S{n % 30}'s"[:3], open=n % 97 + 0.25, volume=n * 7 % 1009) for n in range(400)]
    (folder / "quotes.txt").write_text("".join(lines))
    return SparkPlan(quotes=str(folder / "quotes.txt"), folder=str(folder / "kept"), records=2000, filters=1000)


def test_speed_is_measured_beside_no_spark(given, spark):
    bare, on_spark, bound = speed(given, ["local[2]"], lambda _: None)
    assert (bare.way, on_spark.way) == ("without Spark", "local[2]")
    assert on_spark.records == bare.records == 2000
    assert on_spark.matches == bare.matches > 0
    assert 0 < bound.checked <= on_spark.matches
    assert on_spark.java_s > 0
    assert on_spark.kernel_s > 0
    assert bound.two_processes > 0
    assert spark.range(1).count() == 1


def test_without_records_it_says_what_to_name(tmp_path):
    with pytest.raises(InputError, match="no records to match"):
        next(speed(SparkPlan(records=10, folder=str(tmp_path)), ["local[2]"], lambda _: None))
