import io
import json
import re
import sys

import pytest
from rich.console import Console
from support.text_files import text_file

STAR = "0 1\n0 2\n0 3\n3 4\n4 3\n"


file = text_file("graph.txt")


def said(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    return json.loads(outcome.out)


def test_json_says_all_in_one_object(cbnet, file):
    path = file(STAR)
    found = said(cbnet("lab", "topology", path, "--json"))
    assert found["graph"] == str(path)
    assert (found["nodes"], found["edges"], found["repeated"], found["bridges"]) == (5, 4, 1, 4)
    assert found["central"][0] == {"node": 0, "betweenness": 0.833333, "degree": 3, "class": None}
    assert {*found} == {"graph", "nodes", "edges", "repeated", "weights", "classes", "degrees", "distances",
                        "components", "bridges", "central"}  # fmt: skip


def test_people_see_tables(cbnet, file):
    outcome = cbnet("lab", "topology", file(STAR))
    assert (outcome.code, outcome.err) == (0, "")
    for text in (
        "graph.txt: 5 nodes, 4 edges",
        "repeated, dropped",
        "Degrees",
        "Distances from all nodes",
        "Most central",
    ):
        assert text in outcome.out.replace("\n", "")
    assert "AS classes" not in outcome.out


def test_classes_are_shown_where_ases_are_related(cbnet, file):
    outcome = cbnet("lab", "topology", file("".join(f"1|{customer}|-1\n" for customer in range(2, 9))))
    rows = re.findall(r"(Tier-1|Large|Small|Stub) +(\d+)", outcome.out)
    assert rows == [("Tier-1", "0"), ("Large", "0"), ("Small", "1"), ("Stub", "7")]


def test_a_graph_that_is_not_connected_is_described(cbnet, file):
    path = file("a b\nb c\nd e\n")
    assert said(cbnet("lab", "topology", path, "--json"))["components"] == {"count": 2, "sizes": [3, 2]}
    assert "Largest components" in cbnet("lab", "topology", path).out
    assert said(cbnet("lab", "topology", path, "--largest", "--json"))["components"] == {"count": 1, "sizes": [3]}


def test_sources_and_seed_select_the_measurement(cbnet):
    few = said(cbnet("lab", "topology", "random:100", "--sources", "7", "--json"))
    assert (few["distances"]["sources"], few["distances"]["exact"]) == (7, False)
    every = said(cbnet("lab", "topology", "random:100", "--sources", "1000", "--json"))
    assert (every["distances"]["sources"], every["distances"]["exact"]) == (100, True)
    assert (
        said(cbnet("lab", "topology", "random:100", "--seed", "1", "--sources", "100", "--json"))["central"]
        != every["central"]
    )
    assert "Distances from 7 nodes" in cbnet("lab", "topology", "random:100", "--sources", "7").out
    assert "longest distance seen" in cbnet("lab", "topology", "random:100", "--sources", "7").out


def test_names_are_not_taken_for_styles(cbnet, file):
    assert "[red]" in cbnet("lab", "topology", file("[red] [/]\n")).out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("rign:12",), "there is no file or generator 'rign:12'; write ring:12"),
        (("ring:12", "--seed", "-1"), "--seed must be an integer of at least 0, not -1"),
        (("ring:12", "--sources", "0"), "the number of sources must be at least 1, not 0"),
        (("ring:2",), "ring:2: a ring has at least 3 nodes"),
    ],
)
def test_bad_input_is_one_line(cbnet, arguments, problem):
    outcome = cbnet("lab", "topology", *arguments)
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"error: {problem}\n")


def test_the_mistakes_of_a_file_are_shown_together(cbnet, file):
    path = file("a a\nb c\nb c 2\n")
    assert cbnet("lab", "topology", path).err == (
        f"error: {path}:1: the edge leads from a to itself; remove it\n"
        f"error: {path}:3: the edge between b and c has another weight in line 2; keep one of the two\n"
    )
    outcome = cbnet("lab", "topology", path, "--json")
    assert (outcome.code, outcome.err) == (2, "")
    assert [json.loads(line)["line"] for line in outcome.out.splitlines()] == [1, 3]


def test_without_networkx_the_remedy_is_named(cbnet, monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    outcome = cbnet("lab", "topology", "aslike:100")
    assert (outcome.code, outcome.err) == (1, "error: aslike needs networkx: pip install networkx\n")


def test_progress_is_shown_on_a_terminal(cbnet, monkeypatch):
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(
        "rich.console.Console", lambda stderr=False, **_: terminal if stderr else Console(file=sys.stdout)
    )
    assert cbnet("lab", "topology", "random:100").code == 0
    assert "distances" in screen.getvalue()
    assert "betweenness" in screen.getvalue()
