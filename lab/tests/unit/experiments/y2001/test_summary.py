import pyarrow as pa
import pytest

from cbnet_lab.bench.bench_input import bench_input
from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.timing import with_unknown_attributes
from cbnet_lab.experiments.y2001.summary import EXPERIMENT
from cbnet_lab.workload import Forwarding2001

TINY = EXPERIMENT.parameters(
    filters=(100, 200),
    scanned=50,
    common=(0, 3, 10),
    interfaces=(2,),
    all_names=(20, 100),
    attributes=(2, 4),
    messages=20,
    turns=2,
    seconds=0.0,
)


@pytest.mark.parametrize("kept", [0, 2, 10])
def test_renamed_messages_keep_all_values_and_some_names(kept):
    data = bench_input(Forwarding2001(N=30, F=50, I=2, A=20), lambda _: None)
    for before, after in zip(data.members, with_unknown_attributes(data, kept).members, strict=True):
        assert sum(name in before for name in after) == min(kept, len(before))
        assert {name.split(": ")[-1]: value for name, value in after.items()} == before


def test_messages_without_names_in_common_touch_nothing():
    tables = EXPERIMENT.run(TINY, ExperimentContext())
    assert {row["postings"] for row in tables["disjoint"].to_pylist()} == {0}
    by_names = {row["common"]: row["postings"] for row in tables["common"].to_pylist() if row["method"] == "counting"}
    assert 0 == by_names[0] < by_names[3] < by_names[10]
    found = {finding.claim: finding.verdict for finding in EXPERIMENT.findings(tables, TINY)}
    assert set(found) == {4, 13, 14, 15}
    assert found[15] == "open"


METHODS = ("counting", "pivot", "scan of all filters")


def judged(disjoint=(1.0, 1.0, 1.0), postings=0, index=(1.0, 10.0), scan=100.0, short=()):
    """Judge growth with 100 times the filters, 10 times the attributes and 100 times the names; and other numbers."""
    grown = zip(("filters", "attributes", "names"), ((1, 100), (2, 20), (100, 10_000)), disjoint, strict=True)
    tables = {
        "disjoint": [
            {"grown": what, "value": value, "method": "counting", "postings": postings, "matched": 0, "us": us}
            for what, ends, growth in grown
            for value, us in zip(ends, (1.0, growth), strict=True)
        ],
        "common": [
            {"common": common, "method": method, "us": us if method == "counting" else scan}
            for common, us in zip((0, 10), index, strict=True)
            for method in METHODS
        ],
        "short": [
            {"interfaces": i, "filters": f, "matching": matching, "method": method, "turn": 0, "us": us}
            for i, f, matching, factor in short or ((2, 100, 20.0, 2.0),)
            for method, us in (("counting", 1.0), ("counting, no short-circuit", factor))
        ],
        "rivals": [{"filters": 100, "method": method, "us": 1.0} for method in METHODS],
    }
    found = EXPERIMENT.findings({name: pa.Table.from_pylist(rows) for name, rows in tables.items()}, TINY)
    return {finding.claim: finding for finding in found}


@pytest.mark.parametrize(
    ("disjoint", "verdict"),
    [
        ((1.4, 10.0, 2.0), "holds"),  # attributes × log(names): 10 times the attributes, log 10,000 = 2 log 100
        ((1.6, 10.0, 2.0), "fails"),
        ((1.4, 13.0, 2.0), "fails"),
        ((1.4, 10.0, 3.0), "fails"),
    ],
)
def test_failed_searches_depend_on_attributes_and_the_logarithm_of_the_names(disjoint, verdict):
    assert judged(disjoint)[4].verdict == verdict
    assert judged(disjoint, postings=1)[4].verdict == "fails"


def test_messages_without_names_in_common_must_be_cheap():
    assert judged()[13].verdict == "holds"
    assert judged(index=(3.0, 10.0))[13].verdict == "fails"
    assert judged(scan=9.0)[13].verdict == "fails"


@pytest.mark.parametrize(
    ("short", "verdict"),
    [
        (((2, 100, 20.0, 3.0), (2, 1000, 200.0, 9.0)), "holds"),
        (((2, 100, 2.0, 0.7), (2, 1000, 200.0, 9.0)), "differs"),  # it costs where few filters match
        (((2, 100, 20.0, 1.5), (2, 1000, 200.0, 9.0)), "fails"),
        (((2, 100, 20.0, 3.0), (2, 1000, 200.0, 3.0)), "fails"),  # no more in the large table
        (((2, 100, 20.0, 3.0), (50, 100, 20.0, 1.0)), "unmeasured"),  # fewer than one filter per interface matches
    ],
)
def test_short_circuit_must_save_half_where_many_filters_match(short, verdict):
    assert judged(short=short)[14].verdict == verdict


def test_nearest_thing_to_the_matchers_of_2001_is_shown():
    assert "1.0 times as long as pivot" in judged()[15].ours
    assert judged()[15].label == "not decided"
