from dataclasses import replace

import pyarrow as pa
import pytest

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2001.examples import EXPERIMENT, ExamplesParameters2001

TINY = ExamplesParameters2001(tables=2, filters=30, messages=10)


@pytest.fixture(scope="module")
def tables():
    return EXPERIMENT.run(TINY, ExperimentContext())


def test_examples_of_the_paper_hold(tables):
    assert {finding.claim: finding.verdict for finding in EXPERIMENT.findings(tables, TINY)} == {
        1: "holds", 2: "holds", 3: "holds",
    }  # fmt: skip
    assert {row["constraints"] for row in tables["searches"].to_pylist()} == {2}
    assert tables["lookups"].to_pylist()[1]["selected"] == ["quantity < 350", "quantity > 0", "quantity > 3"]


def test_wrong_answer_fails_the_claim(tables):
    wrong = tables["answers"].to_pylist()
    wrong[0]["wrong"] = 1
    (finding,) = [
        f for f in EXPERIMENT.findings({**tables, "answers": pa.Table.from_pylist(wrong)}, TINY) if f.claim == 3
    ]
    assert (finding.verdict, "1 of 100 answers differ" in finding.ours) == ("fails", True)


@pytest.mark.parametrize(
    ("table", "row", "change", "claim"),
    [
        ("messages", 3, {"to": ["I1"]}, 1),  # an engine misses I2
        ("filters", 0, {"constraints": 3}, 1),
        ("lookups", 0, {"selected": ["quantity < 20"]}, 2),
        ("lookups", 1, {"selected": ["quantity < 20"]}, 2),  # 20 is not below 20
        ("searches", 0, {"comparisons": 3}, 2),  # three constants need two comparisons
        ("searches", 1, {"constraints": 3}, 2),
    ],
)
def test_other_tables_fail(tables, table, row, change, claim):
    rows = tables[table].to_pylist()
    rows[row] |= change
    found = EXPERIMENT.findings({**tables, table: pa.Table.from_pylist(rows)}, TINY)
    assert [finding.claim for finding in found if finding.verdict == "fails"] == [claim]


def test_seed_changes_the_tables():
    first, second = (
        EXPERIMENT.run(replace(TINY, tables=1), ExperimentContext(seed=seed))["answers"].num_rows for seed in (0, 1)
    )
    assert first == second == 5
