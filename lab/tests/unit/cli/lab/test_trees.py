import io
import json
import sys

import pytest
from rich.console import Console

PERCENTS = ["p1", "p25", "p50", "p75", "p99"]


def said(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_json_has_a_line_for_each_rule_and_number_then_the_claims(cbnet):
    rows = said(
        cbnet("lab", "trees", "--topology", "ring:5", "--k", "8,1", "--selections", "2", "--sources", "3", "--json")
    )
    found = [row for row in rows if "k" in row]
    assert rows[: len(found)] == found
    assert [(row["ties"], row["k"]) for row in found] == [
        ("smallest", 1),
        ("smallest", 8),
        ("random", 1),
        ("random", 8),
    ]
    for row in found:
        assert {*row} == {
            "topology",
            "ties",
            "k",
            "selections",
            "sources",
            "extra_mean",
            "extra_worst",
            "interfaces",
            "load",
        }
        assert (row["topology"], row["selections"], row["sources"]) == ("ring:5", 2, 6)
        assert [*row["extra_mean"]["pairs"]] == [*row["extra_worst"]["sources"]] == ["mean", *PERCENTS]
    # a tree of five nodes has four links, with two ends each
    assert (found[0]["interfaces"]["used"], found[0]["load"]["used"], found[0]["load"]["links"]) == (8, 4, 5)
    findings = rows[len(found) :]
    assert [row["claim"] for row in findings] == [77, 78, 69]  # of Figure 5, and of the load of links
    assert {row["verdict"] for row in findings} <= {"unmeasured", "open"}  # a ring of five is not the Internet


def test_tables_and_claims_are_printed(cbnet):
    outcome = cbnet("lab", "trees", "--topology", "powerlaw:60", "--k", "1,8", "--selections", "2", "--sources", "5")
    assert (outcome.code, outcome.err) == (0, "")
    for text in (
        "powerlaw:60: 60 nodes, 116 links; 2 selections of roots, 5 sources each",
        "Extra hops over the graph's shortest path, mean of the trees",
        "Extra hops over the graph's shortest path, worst tree",
        "Distinct trees per interface",
        "Link load, in pairs of nodes",
        "Claims of [2014] about these trees",
    ):
        assert text in outcome.out


def test_weighted_graphs_have_lengths_and_no_hops(cbnet):
    outcome = cbnet(
        "lab", "trees", "--topology", "ring:6,weights=9", "--k", "8", "--selections", "1", "--ties", "fresh"
    )
    assert "Extra length over the graph's shortest path, worst tree" in outcome.out
    assert "Claims" not in outcome.out  # one number of trees, and another rule for ties


def test_options_select_the_measurement(cbnet):
    options = (
        "lab",
        "trees",
        "--topology",
        "random:40",
        "--k",
        "4",
        "--ties",
        "smallest",
        "--selections",
        "2",
        "--json",
    )
    [exact] = said(cbnet(*options, "--sources", "100"))
    assert exact["sources"] == 80
    [few] = said(cbnet(*options, "--sources", "7"))
    assert few["sources"] == 14
    [other] = said(cbnet(*options, "--sources", "7", "--seed", "1"))
    assert other["extra_mean"] != few["extra_mean"]


def test_the_largest_component_can_be_taken(cbnet, tmp_path):
    path = tmp_path / "[red]"
    path.write_text("a b\nb c\nd e\n")
    refused = cbnet("lab", "trees", "--topology", path)
    assert refused.code == 2
    assert "not connected" in refused.err
    outcome = cbnet("lab", "trees", "--topology", path, "--largest", "--k", "2", "--selections", "1")
    assert "[red]: 3 nodes, 2 links; 1 selection of roots, 3 sources each" in outcome.out.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--k", "8,x"), "--k must list numbers from 1 to 1,000, not '8,x'; write --k 8,16,32"),
        (("--k", "0"), "--k must list numbers from 1 to 1,000, not '0'; write --k 8,16,32"),
        (("--k", "1001"), "--k must list numbers from 1 to 1,000, not '1001'; write --k 8,16,32"),
        (("--k", ""), "--k must list numbers from 1 to 1,000, not ''; write --k 8,16,32"),
        (("--ties", "least"), "unknown tie-breaking rule in 'least'; choose among smallest, random, fresh"),
        (("--selections", "0"), "the number of selections must be at least 1, not 0"),
        (("--sources", "0"), "the number of sources must be at least 1, not 0"),
        (("--seed", "-1"), "--seed must be an integer of at least 0, not -1"),
    ],
)
def test_bad_input_is_one_line(cbnet, arguments, problem):
    outcome = cbnet("lab", "trees", "--topology", "ring:12", *arguments)
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"error: {problem}\n")


def test_progress_is_shown_on_a_terminal(cbnet, monkeypatch):
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(
        "rich.console.Console", lambda stderr=False, **_: terminal if stderr else Console(file=sys.stdout)
    )
    assert cbnet("lab", "trees", "--topology", "ring:12", "--k", "2", "--selections", "2").code == 0
    assert "trees" in screen.getvalue()
    assert "100%" in screen.getvalue()
