import pyarrow as pa

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2006.examples import EXPERIMENT, ExamplesParameters2006

TINY = ExamplesParameters2006(sets=2, predicates=20, larger=("powerlaw:20",), messages=20)


def test_all_examples_of_the_paper_hold_and_a_wrong_one_fails():
    tables = EXPERIMENT.run(TINY, ExperimentContext())
    found = EXPERIMENT.findings(tables, TINY)
    assert [finding.claim for finding in found] == list(EXPERIMENT.claims)
    # On networks built to fit the text, an example agrees by construction.
    fitted = {finding.claim for finding in found if finding.verdict == "differs"}
    assert fitted >= {42, 48, 50, 53, 55, 57}
    assert {finding.verdict for finding in found if finding.claim not in fitted} == {"holds"}
    rows = tables["examples"].to_pylist()
    rows[0]["actual"] = "4"
    wrong = EXPERIMENT.findings({**tables, "examples": pa.Table.from_pylist(rows)}, TINY)
    assert [(finding.claim, finding.reason) for finding in wrong if finding.verdict == "fails"] == [
        (40, "differs from the paper: size")
    ]
    (lost,) = [row for row in rows if row["claim"] == 41 and row["what"].startswith("answers of reduced")]
    assert (lost["actual"], lost["expected"]) == ("0", "0")
    lost["actual"] = "1"  # a message that the disjunction matches, and the reduced one does not
    wrong = EXPERIMENT.findings({**tables, "examples": pa.Table.from_pylist(rows)}, TINY)
    assert {finding.claim for finding in wrong if finding.verdict == "fails"} == {40, 41}


def test_expected_values_are_those_of_the_paper():
    rows = EXPERIMENT.run(TINY, ExperimentContext())["examples"].to_pylist()
    printed = {(row["claim"], row["expected"]) for row in rows}
    assert {
        (40, "3"), (41, "0.5"), (42, "4, 7, 8, 11, 12"), (42, ""), (48, "1, 5, 9"), (50, "5, 9, 10"), (53, "3"),
        (55, "{2, 3} → 2; {4, 8} → 7"), (63, "y > 0"),
    } <= printed  # fmt: skip
