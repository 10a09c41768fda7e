from collections import Counter

from cbnet.lab.experiments.experiment import ExperimentContext
from cbnet.lab.experiments.y2014.examples import EXPERIMENT

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


def test_all_three_claims_hold():
    assert [(finding.claim, finding.verdict) for finding in EXPERIMENT.findings(TABLES, None)] == [
        (68, "holds"),
        (70, "holds"),
        (71, "holds"),
    ]
