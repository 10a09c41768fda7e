import pyarrow as pa
import pytest

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2002.examples import EXPERIMENT, ExamplesParameters2002

TINY = ExamplesParameters2002((200,), (10,))


@pytest.fixture(scope="module")
def tables():
    return EXPERIMENT.run(TINY, ExperimentContext())


def test_flight_of_the_paper_is_too_expensive(tables):
    found = {finding.claim: finding for finding in EXPERIMENT.findings(tables, TINY)}
    assert {claim: finding.verdict for claim, finding in found.items()} == {
        20: "fails", 22: "holds", 23: "holds", 28: "holds",
    }  # fmt: skip
    assert found[20].ours.startswith("at 600: does not match; at 499: matches")
    assert found[23].ours == "price: I1, I3; stock: I3"


def test_formula_is_that_of_the_paper(tables):
    (row,) = tables["sizes"].to_pylist()
    # 200 interfaces of 1 to 9 filters, 5 on average, of 1 to 9 constraints, 5 on average
    assert (row["about_filters"], row["about_constraints"]) == (1000, 5000)
    # the variance of 1 … 9 is 80 / 12
    assert row["error_filters"] == pytest.approx((200 * 80 / 12) ** 0.5)


def verdict(tables, claim, **changed):
    """Judge other tables, given as lists of rows."""
    changed = {name: pa.Table.from_pylist(rows) for name, rows in changed.items()}
    return next(each.verdict for each in EXPERIMENT.findings({**tables, **changed}, TINY) if each.claim == claim)


def test_table_of_another_size_fails(tables):
    (row,) = tables["sizes"].to_pylist()
    assert verdict(tables, 28, sizes=[{**row, "filters": 2 * row["filters"]}]) == "fails"
    large = {**row, "about_constraints": 10**6, "error_constraints": 1.0}
    assert verdict(tables, 28, sizes=[{**large, "constraints": 991_000}]) == "holds"  # merging removes little
    assert verdict(tables, 28, sizes=[{**large, "constraints": 980_000}]) == "fails"


def test_other_answers_and_determinants_change_the_verdict(tables):
    flight = [{**row, "matches": True} for row in tables["flight"].to_pylist()]
    assert verdict(tables, 20, flight=flight) == "holds"
    rows = tables["determinants"].to_pylist()
    assert verdict(tables, 22, determinants=[*rows, {"table": "paper's r", "name": "s", "interface": "I"}]) == "fails"
    assert verdict(tables, 23, determinants=rows[:-1]) == "fails"
