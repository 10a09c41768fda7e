from collections import Counter

import pyarrow as pa

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2014.examples import EXPERIMENT

TABLES = EXPERIMENT.run(EXPERIMENT.scales["quick"], ExperimentContext())


def test_paths_on_a_tree_are_never_shorter():
    hops = TABLES["hops"].to_pylist()
    assert len(hops) == 55  # pairs of 11 routers
    assert all(row["graph"] <= min(row["T1"], row["T2"]) for row in hops)
    assert [row for row in hops if row["from"] == "i" and row["to"] == "j"] == [
        {"from": "i", "to": "j", "graph": 1, "T1": 4, "T2": 1}  # by hand: i e b f j
    ]


def test_tables_of_b_are_those_of_figure_3():
    terms = {}
    for row in TABLES["terms"].to_pylist():
        terms.setdefault((row["table"], row["interface"]), set()).add(row["term"])
    assert terms["T1", "e"] == set("adei")
    assert terms["T2", "e"] == set("adeifgjk")  # not b itself, as the paper prints
    assert terms["folded", "c"] == {"c", "h", "T1 ∧ g"}
    assert Counter(TABLES["terms"]["table"].to_pylist()) == {"T1": 10, "T2": 10, "folded": 14}


def verdicts(**changed):
    return {each.claim: each.verdict for each in EXPERIMENT.findings(TABLES | changed, None)}


def test_examples_on_the_network_built_to_fit_hold_with_a_difference():
    assert verdicts() == {68: "differs", 70: "holds", 71: "differs"}


def larger(**changed):
    row = {"network": "n", "links": 90, "far": 9, "routers": 5, "saved": 3, "separate": 100, "folded": 80}
    return pa.Table.from_pylist([row, row | changed])


def test_statement_that_is_not_true_on_a_larger_network_fails():
    assert verdicts(larger=larger()) == {68: "differs", 70: "holds", 71: "differs"}
    assert verdicts(larger=larger(far=0))[68] == "fails"
    assert verdicts(larger=larger(folded=100))[71] == "fails"


def test_other_numbers_in_an_example_fail():
    hops = pa.Table.from_pylist([{**row, "T1": 3} for row in TABLES["hops"].to_pylist()])
    assert verdicts(hops=hops)[68] == "fails"
    assert verdicts(terms=TABLES["terms"].slice(1))[71] == "fails"
    kept = pa.Table.from_pylist([{**row, "kept": True} for row in TABLES["descriptors"].to_pylist()])
    assert verdicts(descriptors=kept)[70] == "fails"
