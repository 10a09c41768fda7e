import pyarrow as pa
import pytest

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2006.laws import EXPERIMENT, _bridges, named_network

TINY = EXPERIMENT.parameters(networks=2, nodes=5, extra=2, messages=2, tree_nodes=(20, 40))


@pytest.fixture(scope="module")
def tables():
    return EXPERIMENT.run(TINY, ExperimentContext(seed=1))


def test_path_of_three_has_two_bridges_and_no_distinguishing_router():
    rows = [*_bridges(named_network("a-b:1 b-c:1").graph)]
    assert sorted((row["sources"], row["routers"], row["distinguishing"]) for row in rows) == [
        (1, 2, 0), (1, 2, 0), (2, 1, 0), (2, 1, 0),
    ]  # fmt: skip
    assert [*_bridges(named_network("a-b:1 b-c:1 c-a:1").graph)] == []


def test_every_scheme_source_and_message_has_a_delivery(tables):
    assert tables["deliveries"].num_rows == 2 * 2 * 4 * 5 * 2
    verdicts = {finding.claim: finding.verdict for finding in EXPERIMENT.findings(tables, TINY)}
    # PSF and DRP with ties, and the class of a node's own messages, are where the paper is not exact
    assert verdicts == {43: "differs", 46: "holds", 47: "differs", 52: "holds", 56: "differs"}


def test_psf_with_ties_is_minimal_but_not_ideal(tables):
    (ties,) = [row for row in tables["examples"].to_pylist() if row["example"] == "ties"]
    assert (ties["correct"], ties["minimal"], ties["ideal"]) == (True, True, False)


@pytest.mark.parametrize(
    ("table", "column", "claim"),
    [("deliveries", "correct", 43), ("deliveries", "contains_psf", 52), ("deliveries", "correct", 56)],
)
def test_one_wrong_delivery_fails_the_claim(tables, table, column, claim):
    wrong = [{**row, column: False} for row in tables[table].to_pylist()]
    found = EXPERIMENT.findings({**tables, table: pa.Table.from_pylist(wrong)}, TINY)
    assert next(finding.verdict for finding in found if finding.claim == claim) == "fails"


def test_one_distinguishing_router_fails_the_claim(tables):
    rows = tables["bridges"].to_pylist()
    rows[0]["distinguishing"] = 1
    found = EXPERIMENT.findings({**tables, "bridges": pa.Table.from_pylist(rows)}, TINY)
    assert next(finding.verdict for finding in found if finding.claim == 46) == "fails"


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "differs"),
        ({"counted": 3 * 40 * 40 * 64}, "fails"),  # three times the formula
        ({"flags": 1}, "fails"),
        ({"not_rewritten": 1}, "fails"),
        ({"classes": 0}, "fails"),
    ],
)
def test_iPS_on_trees_must_have_these_classes_and_this_state(tables, change, verdict):  # noqa: N802
    rows = tables["trees"].to_pylist()
    rows[-1] |= change
    found = EXPERIMENT.findings({**tables, "trees": pa.Table.from_pylist(rows)}, TINY)
    assert next(finding.verdict for finding in found if finding.claim == 47) == verdict


def test_state_on_trees_that_grows_faster_than_the_formula_fails(tables):
    rows = [{**row, "counted": int(row["formula"] * row["nodes"] / 40)} for row in tables["trees"].to_pylist()]
    found = EXPERIMENT.findings({**tables, "trees": pa.Table.from_pylist(rows)}, TINY)
    finding = next(finding for finding in found if finding.claim == 47)
    assert (finding.verdict, "growing with n^1.00 for 20 to 40 nodes" in finding.ours) == ("fails", True)


def test_counted_state_on_a_tree_is_two_words_per_pair_and_identifiers(tables):
    for row in tables["trees"].to_pylist():
        n = row["nodes"]
        assert row["classes"] == row["neighbours"] + n
        # each node has, for each neighbour (and itself), the receivers of all others: 2(n - 1) edges times n - 1 words
        assert row["counted"] >= 2 * (n - 1) * (n - 1) * 64
        assert row["formula"] == n * n * 64  # α is 1: all predicates differ
