import gzip
import json

import pytest
from support.networks import ELEVEN

KEYS = ["router", "tree", "root", "interface", "interfaces", "destinations", "tags", "descriptors", "kept", "bytes",
        "compiled_bytes"]  # fmt: skip
ENTRIES = ["per_tree", "grouped", "folded", "grouped_and_folded"]


def rows(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    return [json.loads(line) for line in outcome.out.splitlines()]


@pytest.fixture
def files(tmp_path):
    """The network of [2014 Fig. 2], a predicate for each node, and descriptors for a path of four."""
    (tmp_path / "eleven.edges").write_text("\n".join(edge[:3].replace("-", " ") for edge in ELEVEN.split()))
    (tmp_path / "path.edges").write_text("1 2\n2 3\n3 4\n")
    wanted = "\n".join(f"{node} = '#{node}'" for node in "abcdefghijk")
    (tmp_path / "wanted.toml").write_text(f"[rules]\n{wanted}\n")
    said = ["user\titem\ttags", "1\t1\ta b", "1\t2\ta", "2\t3\tb  c", "2\t4\tc"]
    (tmp_path / "said.tsv").write_text("\n".join(said) + "\n")
    (tmp_path / "said.tsv.gz").write_bytes(gzip.compress("\n".join(said).encode()))
    return tmp_path


def figure_3(files, *more):
    return ("lab", "fib", "--topology", files / "eleven.edges", "--rules", files / "wanted.toml", *more)


def test_router_b_of_figure_3_has_20_terms_on_two_trees_and_14_folded(cbnet, files):
    found = rows(cbnet(*figure_3(files, "--node", "b", "--root", "b", "--root", "i", "--json")))
    assert [list(row) for row in found[:-1]] == [KEYS] * 4
    assert [(row["tree"], row["root"], row["interface"], row["interfaces"], row["kept"]) for row in found[:-1]] == [
        (1, "b", None, 3, 10), (1, "b", "e", 1, 4), (2, "i", None, 2, 10), (2, "i", "e", 1, 8),
    ]  # fmt: skip
    assert [row["destinations"] for row in found[:-1]] == [10, 4, 10, 8]
    assert all(row["bytes"] == 50 * row["kept"] < row["compiled_bytes"] for row in found[:-1])
    assert found[-1] == {
        "router": "b", "trees": 2, "per_tree": 20, "grouped": 20, "folded": 14, "grouped_and_folded": 14,
    }  # fmt: skip


def test_names_of_nodes_are_no_markup(cbnet, files):
    (files / "odd.edges").write_text("[red]a b\nb [/x]c\n")
    (files / "b.toml").write_text("[rules]\nb = '#a'\n")
    outcome = cbnet(
        "lab", "fib", "--topology", files / "odd.edges", "--rules", files / "b.toml", "--node", "b", "--root", "[/x]c"
    )
    assert (outcome.code, outcome.err) == (0, "")
    assert "[/x]c" in outcome.out


def test_all_routers_are_counted_together(cbnet, files):
    (found,) = rows(cbnet(*figure_3(files, "--node", "all", "--root", "b", "--json")))
    assert found == {"router": "all", "routers": 11, "trees": 1, **dict.fromkeys(ENTRIES, 11 * 10)}


@pytest.mark.parametrize("name", ["said.tsv", "said.tsv.gz"])
def test_descriptors_of_a_file_are_spread_over_the_nodes(cbnet, files, name):
    arguments = ("--topology", files / "path.edges", "--descriptors", files / name, "--root", "2", "--json")
    by_router = [rows(cbnet("lab", "fib", *arguments, "--node", str(node))) for node in range(1, 5)]
    # every descriptor is behind the interfaces of all routers but its own
    assert sum(row["descriptors"] for found in by_router for row in found if row.get("interface", "") is None) == 4 * 3
    assert sum(row["tags"] for found in by_router for row in found if row.get("interface", "") is None) == 6 * 3
    (total,) = rows(cbnet("lab", "fib", *arguments, "--node", "all"))
    assert total["per_tree"] == sum(found[-1]["per_tree"] for found in by_router)
    assert rows(cbnet("lab", "fib", *arguments, "--node", "1")) == by_router[0]
    seeds = [cbnet("lab", "fib", *arguments, "--node", "1", "--seed", str(seed)).out for seed in range(8)]
    assert len(set(seeds)) > 1


def test_the_most_central_router_and_a_drawn_root_are_taken_if_none_is_named(cbnet, files):
    arguments = ("lab", "fib", "--topology", "tree:10,arity=9", "--descriptors", files / "said.tsv", "--json")
    found = rows(cbnet(*arguments))
    assert [row["router"] for row in found] == [0] * 3  # the centre
    assert len(rows(cbnet(*arguments, "--trees", 3))) == 2 * 3 + 1


def test_people_get_table_1_or_a_row_for_each_tree(cbnet, files):
    one = cbnet(*figure_3(files, "--node", "b", "--root", "i")).out
    assert "router b: 3 neighbours" in one
    two = cbnet(*figure_3(files, "--node", "b", "--root", "b", "--root", "i")).out
    # interfaces, destinations, tags, descriptors, kept: each node has one tag of its own
    assert [line.split()[:8] for line in two.splitlines() if line.startswith(("1 ", "2 "))] == [
        ["1", "b", "all", "3", "10", "10", "10", "10"], ["1", "b", "to", "e", "4", "4", "4", "4"],
        ["2", "i", "all", "2", "10", "10", "10", "10"], ["2", "i", "to", "e", "8", "8", "8", "8"],
    ]  # fmt: skip
    assert [line.split()[-1] for line in two.splitlines() if "with tree tags" in line] == ["14"]
    assert "110" in cbnet(*figure_3(files, "--node", "all", "--root", "b")).out


def test_a_router_that_nothing_lies_behind_has_no_interfaces(cbnet, files):
    (files / "one.toml").write_text("[rules]\nb = '#b'\n")
    found = rows(cbnet("lab", "fib", "--topology", files / "eleven.edges", "--rules", files / "one.toml", "--node", "b",
                       "--root", "b", "--json"))  # fmt: skip
    assert [(row.get("interfaces"), row.get("bytes")) for row in found] == [(0, 0), (None, None)]
    assert cbnet("lab", "fib", "--topology", files / "eleven.edges", "--rules", files / "one.toml", "--node", "b",
                 "--trees", "2").code == 0  # fmt: skip


def test_rows_without_tags_are_left_out_with_a_note(cbnet, files):
    (files / "few.tsv").write_text("user\ttags\n1\ta\n2\t\n3\t \n")
    outcome = cbnet("lab", "fib", "--topology", "ring:4", "--descriptors", files / "few.tsv", "--json")
    assert outcome.code == 0
    assert outcome.err == f"{files}/few.tsv: 2 rows without tags left out\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "no receivers given; give exactly one of --rules FILE and --descriptors FILE"),
        (["--descriptors", "said.tsv", "--rules", "wanted.toml"], "no receivers given"),
        (
            ["--descriptors", "said.tsv", "--trees", "2", "--root", "1"],
            "both a number of trees and their roots are given; give one",
        ),
        (["--descriptors", "said.tsv", "--root", "x"], "the graph has no node 'x'"),
        (["--descriptors", "said.tsv", "--node", "x"], "the graph has no node 'x'"),
        (["--descriptors", "said.tsv", "--trees", "0"], "Invalid value for '--trees'"),
        (["--descriptors", "no.tsv"], "no.tsv: cannot read: No such file or directory"),
        (["--descriptors", "."], ".: cannot read"),
        (["--descriptors", "path.edges"], "write a header such as user, item, tags, separated by tabs"),
        (["--descriptors", "path.edges"], "path.edges: there is no column tags"),
        (["--descriptors", "ragged.tsv"], "ragged.tsv:3: expected 2 columns as in the header, not 3; write tabs"),
        (["--descriptors", "binary.tsv"], "binary.tsv: row 2 is not UTF-8"),
        (["--descriptors", "damaged.tsv.gz"], "damaged.tsv.gz: "),
        (["--descriptors", "empty.tsv"], "empty.tsv: Empty CSV file; write a head"),
        (["--descriptors", "head.tsv"], "head.tsv: the file has no tags"),
    ],
)
def test_invalid_arguments_are_refused(cbnet, files, monkeypatch, arguments, problem):
    (files / "ragged.tsv").write_text("user\ttags\n1\ta b\n1\ta\tb\n")
    (files / "binary.tsv").write_bytes(b"user\ttags\n1\t\xc3\xa9\n1\t\xff\xfe\n")
    (files / "damaged.tsv.gz").write_bytes(gzip.compress(b"user\ttags\n1\ta\n")[:-9])
    (files / "empty.tsv").write_text("")
    (files / "head.tsv").write_text("user\ttags\n")
    monkeypatch.chdir(files)
    outcome = cbnet("lab", "fib", "--topology", "ring:9", *arguments)
    assert outcome.code == 2
    assert problem in outcome.err
