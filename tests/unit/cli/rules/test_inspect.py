import json

import pytest

from cbnet.matching.engines.registry import ENGINES
from cbnet.matching.statistics import _PARTS

# [2001 Figure 4]: what is expected below is counted by hand from these seven filters.
FIGURE_4 = """[rules]
I1 = 'dest = "Milano" and price < 500 or stock = "DYS" and quantity > 1000 and price < 500'
I2 = 'airline = "UA" and orig = "Denver" and dest = "Milano" or dest = "New York" and price < 200
      or orig = "Denver" or airline = "UA" and upgradeable = true'
I3 = 'stock = "MSFT" and price < 200'
""".replace("200\n      or", "200 or")


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


@pytest.fixture
def compiled(cbnet, tmp_path, engine):
    def compile(text):
        source, table = tmp_path / "p.toml", tmp_path / "table.cbt"
        source.write_text(text)
        assert cbnet("compile", "--rules", source, "-o", table, "--engine", engine).code == 0
        return table

    return compile


def inspected(cbnet, table):
    outcome = cbnet("inspect", table, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    return json.loads(outcome.out)


def test_inspect_counts_the_example_of_the_papers(cbnet, compiled, engine):
    table = compiled(FIGURE_4)
    said = inspected(cbnet, table)
    assert (said["engine"], said["rules"], said["filters"], said["constraints"]) == (engine, 3, 7, 15)
    assert said["bytes"] == table.stat().st_size
    assert {(row["type"], row["operator"]): row["constraints"] for row in said["tests"]} == {
        ("string", "="): 9, ("number", "<"): 4, ("number", ">"): 1, ("bool", "="): 1,
    }  # fmt: skip
    assert [(row["constraints"], row["filters"]) for row in said["filter_sizes"]] == [(1, 1), (2, 4), (3, 2)]
    assert said["filter_kinds"] == {"always": 0, "single": 1, "other": 6}
    assert said["distinct"] == {"names": 7, "tags": 0, "numbers": 3, "strings": 6, "sets": 0, "conditions": 0}
    assert [(row["name"], row["constraints"]) for row in said["top_names"][:2]] == [("price", 4), ("dest", 3)]


def test_inspect_shows_which_index_serves_how_many_filters(cbnet, compiled, engine):
    # the only constraint of a, and of b, is the pivot; c has none; d is in no block, as it is alone
    table = compiled("[rules]\na = 'x = 1'\nb = 'y < 2'\nc = 'true'\nd = 'x = 1 and #t'\n")
    assert inspected(cbnet, table)["indexes"] == ([
        {"index": "values, patterns and tags", "filters": 2}, {"index": "bounds", "filters": 1},
        {"index": "none: always match", "filters": 1},
    ] if engine == "pivot" else [])  # fmt: skip


def test_the_selectivity_table_is_that_of_the_paper(cbnet, compiled):
    # [2002 §4.3]: price is a determinant of I1 and I3, stock of I3, and there are no others
    said = inspected(cbnet, compiled(FIGURE_4))["determinants"]
    assert [(row["name"], row["rules"]) for row in said] == [("price", 2), ("stock", 1)]


def test_a_determinant_is_in_all_filters_of_its_rule(cbnet, compiled):
    # a needs x and the tag t; b has a filter without x; the empty filter of c needs nothing; d has no filter
    table = compiled("[rules]\na = '#t and x > 1 and x < 9 or x = 4 and #t'\nb = 'x = 1 or y = 2'\n"
                     "c = 'x = 1 or true'\nd = []\n")  # fmt: skip
    said = inspected(cbnet, table)
    assert sorted((row["name"], row["is_tag"], row["rules"]) for row in said["determinants"]) == [
        ("t", True, 1), ("x", False, 1),
    ]  # fmt: skip
    assert [(row["name"], row["constraints"]) for row in said["top_tags"]] == [("t", 2)]
    assert said["filter_kinds"] == {"always": 1, "single": 3, "other": 2}


def test_sets_and_conditions_are_counted(cbnet, tmp_path):
    (tmp_path / "p.toml").write_text(
        "[rules]\na = 'x in (1, 2) and price * quantity > 100'\nb = 'not #t and x in (2, 1)'\n"
    )
    said = inspected(cbnet, tmp_path / "p.toml")
    # `x in (1, 2)` twice; the first condition implies that price and quantity exist; t is a tag of a condition
    assert said["distinct"] == {"names": 3, "tags": 1, "numbers": 2, "strings": 0, "sets": 1, "conditions": 2}
    assert said["top_names"] == [
        {"name": "x", "constraints": 2}, {"name": "price", "constraints": 1}, {"name": "quantity", "constraints": 1},
    ]  # fmt: skip
    assert said["top_tags"] == []
    assert {row["name"]: row["rules"] for row in said["determinants"]} == {"x": 2, "price": 1, "quantity": 1}


def test_covered_filters_are_counted_apart(cbnet, compiled):
    said = inspected(cbnet, compiled("[rules]\na = 'x > 1 or x > 5 and y = 1 or z = 1'\n"))
    assert said["filters"] == 3
    assert said["reduction"] == {"covered": 1, "repeated": 0, "matched_against": 2}


def test_the_parts_make_up_the_file(cbnet, compiled):
    said = inspected(cbnet, compiled(FIGURE_4))
    assert sum(row["bytes"] for row in said["parts"]) == said["bytes"]
    # every array belongs to a part that a reader understands
    assert {row["part"] for row in said["parts"]} <= {*_PARTS, "header and padding"}


def test_inspect_shows_tables_to_people(cbnet, compiled):
    outcome = cbnet("inspect", compiled(FIGURE_4 + "odd = '`[red]` = 1 and #\"[/]\"'\n"))
    assert (outcome.code, outcome.err) == (0, "")
    for said in ("Totals", "Size by part", "Types and operators", "Filter sizes", "Most frequent names",
                 "Most frequent tags", "Selectivity table", "`[red]`", '#"[/]"', "string ="):  # fmt: skip
        assert said in outcome.out


def test_rules_are_shown_by_priority(cbnet, compiled):
    rules = "".join(f"[rules.r{n}]\nwhen = 'x = {n}'\npriority = {n}\n" for n in range(25))
    table = compiled(f"[rules]\nplain = 'y = 1'\n{rules}metadata = {{ owner = '[red]' }}\n")
    said = inspected(cbnet, table)["rule_details"]
    assert said[0] == {"name": "r24", "priority": 24, "metadata": {"owner": "[red]"}}
    assert [rule["priority"] for rule in said] == [*range(24, 0, -1)]  # r0 has neither priority nor metadata
    outcome = cbnet("inspect", table)
    assert '{"owner": "[red]"}' in outcome.out
    assert "4 more" in outcome.out


def test_a_rule_file_is_inspected_as_if_compiled(cbnet, compiled, engine, tmp_path):
    table = compiled(FIGURE_4)
    if engine == "pivot":  # the engine of rule files
        assert inspected(cbnet, tmp_path / "p.toml") == inspected(cbnet, table)


def test_sizes_of_large_filters_are_shown_together(cbnet, compiled):
    predicates = (" and ".join(f"x{i} = 1" for i in range(size)) for size in range(1, 21))
    outcome = cbnet("inspect", compiled("[rules]\n" + "\n".join(f"i{n} = '{p}'" for n, p in enumerate(predicates))))
    assert "12 to 20" in outcome.out


def test_an_empty_table_can_be_inspected(cbnet, compiled):
    table = compiled("[rules]\n")
    assert inspected(cbnet, table)["filters"] == 0
    assert cbnet("inspect", table).code == 0


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda _: b"", "not a compiled table"),
        (lambda _: b"[rules]\n", "not a compiled table"),
        (lambda data: data[:-1], "bytes instead of"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "its checksum is wrong"),
    ],
)
def test_a_truncated_table_is_refused(cbnet, compiled, spoil, problem):
    table = compiled(FIGURE_4)
    table.write_bytes(spoil(table.read_bytes()))
    outcome = cbnet("inspect", table)
    assert (outcome.code, outcome.out) == (2, "")
    assert problem in outcome.err


def test_a_missing_table_is_named(cbnet):
    assert cbnet("inspect", "none.cbt").err == "error: none.cbt: cannot read: No such file or directory\n"
