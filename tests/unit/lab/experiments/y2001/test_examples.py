from dataclasses import replace

import pyarrow as pa
import pytest

from cbnet.lab.experiments.experiment import ExperimentContext
from cbnet.lab.experiments.y2001.examples import EXPERIMENT, ExamplesParameters2001

TINY = ExamplesParameters2001(tables=2, filters=30, messages=10)


@pytest.fixture(scope="module")
def tables():
    return EXPERIMENT.run(TINY, ExperimentContext())


def test_examples_of_the_paper_hold(tables):
    assert {finding.claim: finding.verdict for finding in EXPERIMENT.findings(tables, TINY)} == {
        1: "holds", 2: "holds", 3: "holds",
    }  # fmt: skip
    # by hand: Milano for 400 is I1's; from Denver is I2's
    assert tables["messages"].to_pylist()[0]["to"] == ["I1", "I2"]
    assert tables["lookups"].to_pylist()[1]["selected"] == ["quantity < 350", "quantity > 0", "quantity > 3"]


def test_wrong_answer_fails_the_claim(tables):
    wrong = tables["answers"].to_pylist()
    wrong[0]["wrong"] = 1
    (finding,) = [
        f for f in EXPERIMENT.findings({**tables, "answers": pa.Table.from_pylist(wrong)}, TINY) if f.claim == 3
    ]
    assert (finding.verdict, "1 of 100 answers differ" in finding.ours) == ("fails", True)


def test_seed_changes_the_tables():
    first, second = (
        EXPERIMENT.run(replace(TINY, tables=1), ExperimentContext(seed=seed))["answers"].num_rows for seed in (0, 1)
    )
    assert first == second == 5
