import pyarrow as pa
import pytest

from cbnet.lab.experiments.experiment import ExperimentContext
from cbnet.lab.experiments.y2002.examples import EXPERIMENT, ExamplesParameters2002

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


def test_table_of_another_size_fails(tables):
    (row,) = tables["sizes"].to_pylist()
    wrong = pa.Table.from_pylist([{**row, "filters": 2 * row["filters"]}])
    found = {finding.claim: finding.verdict for finding in EXPERIMENT.findings({**tables, "sizes": wrong}, TINY)}
    assert found[28] == "fails"
