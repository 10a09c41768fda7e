import pyarrow as pa
import pytest

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2001.figures_9_to_12 import FIGURES_9_12

TINY = FIGURES_9_12.parameters(filters=(100, 200), interfaces=(2, 0), messages=20, turns=2, seconds=0.0)


def verdicts(rows):
    tables = {"times": pa.Table.from_pylist(rows)}
    return {finding.claim: finding for finding in FIGURES_9_12.findings(tables, TINY)}


def rows(us, filters, cases=(2, 50, 500, 0), names=(100, 1000)):
    """Return rows in which a message takes us(names, filters, interfaces) microseconds by counting."""
    return [
        {"names": a, "case": f"I = {i}" if i else "I = F", "filters": f, "interfaces": i or f, "constraints": 3 * f}
        | {
            "messages": 10,
            "method": method,
            "postings": us(a, f, i or f),
            "counters": us(a, f, i or f),
            "matched": 1.0,
            "turn": turn,
        }
        | {"us": us(a, f, i or f) * (1 if method == "counting" else 0.1)}
        for a in names
        for i in cases
        for f in filters
        for method in ("counting", "pivot")
        for turn in (0, 1)
    ]


WHOLE = [1000 * 2**power for power in range(14)]


def as_the_paper(names, filters, interfaces):
    """400 ms with an interface for each of 8 million filters, 25 ms with 500: in proportion to the interfaces."""
    return 0.0488 * interfaces if interfaces == filters else 50.0 * interfaces * (1 if names == 100 else 1 / 150)


def test_curves_of_the_paper_hold():
    found = verdicts(rows(as_the_paper, WHOLE))
    for claim in (5, 6, 11, 12):
        assert (claim, found[claim].verdict) == (claim, "holds")
    assert "I = F 1.00" in found[6].ours
    assert "I^1.00" in found[12].ours
    assert found[7].verdict == "holds"  # 150 times


def test_small_tables_decide_nothing_about_the_size_of_the_paper():
    # 1/64 of the filters, 1/64 of the time
    found = verdicts(rows(lambda a, f, i: as_the_paper(a, f, i) / 3, WHOLE[:8]))
    assert {found[claim].verdict for claim in (5, 6, 11, 12)} == {"unmeasured"}
    assert "it would be 133 ms" in found[5].reason


def test_slower_than_the_paper_fails():
    found = verdicts(rows(lambda a, f, i: as_the_paper(a, f, i) * 1.1, WHOLE))
    assert (found[5].verdict, found[11].verdict, found[6].verdict) == ("fails", "fails", "holds")
    assert "I = F takes 16.0 times as long as I = 500, in the paper 16 times" in found[5].ours


def test_fixed_interfaces_must_be_flat_far_below_and_in_proportion():
    rising = verdicts(rows(lambda a, f, i: as_the_paper(a, f, i) * (f / 8_192_000) ** 0.3, WHOLE))
    assert (rising[6].verdict, rising[12].verdict) == ("fails", "fails")
    assert "not flat: I = 2, I = 50, I = 500" in rising[6].reason
    near = verdicts(rows(lambda a, f, i: as_the_paper(a, f, i) / (3 if i == f else 1), WHOLE))
    assert (near[6].verdict, near[12].verdict) == ("fails", "holds")
    equal = verdicts(rows(lambda _, f, i: 400_000.0 if i == f else 25_000.0, WHOLE))
    assert (equal[6].verdict, equal[12].verdict) == ("holds", "fails")  # as high with 2 interfaces as with 500


def test_a_factor_of_ten_is_not_a_hundred():
    assert verdicts(rows(lambda a, f, _: f * 100 / a, WHOLE[:5]))[6].verdict == "unmeasured"  # too small to tell
    found = verdicts(rows(lambda a, f, _: f * 100 / a, WHOLE))
    assert found[7].verdict == "fails"
    assert found[7].ours == "10.0 to 10.0 times the time, 10.0 to 10.0 the postings"
    assert found[6].verdict == "fails"  # all cases rise alike, and an interface for each filter is the worst of none


def test_tables_with_many_names_stop_earlier():
    parameters = FIGURES_9_12.parameters(**vars(TINY) | {"most_with_few": 100})
    found = {
        (row["names"], row["filters"]) for row in FIGURES_9_12.run(parameters, ExperimentContext())["times"].to_pylist()
    }
    assert found == {(100, 100), (100, 200), (1000, 100)}


def test_tiny_run_covers_all_cases():
    tables = FIGURES_9_12.run(TINY, ExperimentContext())
    rows = tables["times"].to_pylist()
    assert {(row["names"], row["case"], row["filters"]) for row in rows} == {
        (a, case, f) for a in (100, 1000) for case in ("I = 2", "I = F") for f in (100, 200)
    }
    # fewer names, more postings
    touched = {
        a: sum(row["postings"] for row in rows if row["names"] == a and row["method"] == "counting")
        for a in (100, 1000)
    }
    assert touched[100] > touched[1000]
    assert {chart.name for chart in FIGURES_9_12.charts(tables, TINY)} == {"figure-9", "figure-12"}
    assert "I = F" not in str(FIGURES_9_12.charts(tables, TINY)[1].table.column("case").to_pylist())


@pytest.mark.parametrize("scale", ["quick", "full", "paper"])
def test_filters_grow_from_1000_by_powers_of_two(scale):
    filters = FIGURES_9_12.scales[scale].filters
    assert filters[0] == 1000
    assert list(filters) == sorted(set(filters))
    assert set(filters) <= set(WHOLE)
    assert scale == "quick" or filters[-4:] == tuple(WHOLE[-4:])  # the last decade of the paper's range
