"""Rules: priorities and metadata, stored in a table and returned with a match."""

import json
from pathlib import Path

import numpy as np
import pytest

from cbnet import InputError, Rule, Table
from cbnet.errors import TableFileError, UnknownRuleError
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines.registry import ENGINES
from cbnet.matching.storage.table_file import open_table_file, write_table_file

METADATA = {"owner": "ops", "é": [1, -0.5, 2**62, True, None, {"a": []}], "text": 'a "quote"\n'}
RULES = [Rule("low", -5), Rule(7, 2**63 - 1, METADATA), Rule("note", metadata={"a": 1}), Rule("plain")]
PREDICATES = {"low": "x = 1", 7: "x > 0", "plain": "x = 1", "note": "y = 1"}


@pytest.mark.parametrize("engine", ENGINES)
def test_rules_survive_saving_and_opening(tmp_path, engine):
    built = Table.build(PREDICATES, engine=engine, rules=RULES)
    built.save(tmp_path / "rules.cbt")
    for table in (built, Table.open(tmp_path / "rules.cbt"), Table.open(tmp_path / "rules.cbt", verify=True)):
        assert [table.rule(name) for name in table] == [RULES[0], RULES[1], RULES[3], RULES[2]]
        assert table.match({"x": 1}) == [7, "plain", "low"]  # priorities 2^63-1, 0, -5


def test_a_table_without_rules_has_no_section_for_them(tmp_path):
    for number, rules in enumerate(([], [Rule("low"), Rule(7)])):
        Table.build(PREDICATES, rules=rules).save(tmp_path / f"{number}.cbt")
    assert (tmp_path / "0.cbt").read_bytes() == (tmp_path / "1.cbt").read_bytes()
    assert "rule_details" not in open_table_file(tmp_path / "0.cbt").arrays


def test_rules_are_hashable_and_copy_their_metadata():
    metadata = {"list": (1, 2)}
    rule = Rule("a", 1, metadata)
    metadata["list"] = ()
    assert rule.metadata == {"list": [1, 2]}
    assert len({rule, Rule("a", 1, {"list": [1, 2]}), Rule("a", 2)}) == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"name": 1.5}, "1.5 cannot be the name of a rule"),
        ({"name": True}, "true cannot be the name of a rule"),
        ({"priority": True}, "the priority must be a 64-bit int"),
        ({"priority": 2**63}, "the priority must be a 64-bit int"),
        ({"priority": 1.0}, "the priority must be a 64-bit int"),
        ({"metadata": [1]}, "the metadata must be a JSON object"),
        ({"metadata": {1: 2}}, "metadata: the key 1 is not a string"),
        ({"metadata": {"a": [0, {"b": float("nan")}]}}, "metadata.a[1].b: NaN is not a value"),
        ({"metadata": {"a": "\ud800"}}, "metadata.a: the string holds half of a surrogate pair"),
        ({"metadata": {"a": b"x"}}, "metadata.a: "),
    ],
)
def test_what_json_cannot_express_is_refused(arguments, problem):
    with pytest.raises(InputError) as error:
        Rule(**{"name": "a", **arguments})
    assert error.value.problem.startswith(problem)


@pytest.mark.parametrize("rule", ["none", True, 7.0])
def test_only_rules_of_the_table_have_rules(rule):
    with pytest.raises(UnknownRuleError):
        Table.build(PREDICATES, rules=RULES).rule(rule)


def test_a_rule_without_a_predicate_is_refused():
    with pytest.raises(UnknownRuleError, match="the rule 'other' has no predicate"):
        Table.build(PREDICATES, rules=[Rule("other", 1)])


@pytest.mark.parametrize(
    "section",
    [b"", b"\xff", b"{}x", b"[5]", b"[[9, 1, {}]]", b"[[-1, 1, {}]]", b'[["0", 1, {}]]', b"[[0, 1.5, {}]]",
     b"[[0, 1, []]]", b"[[0, 1]]", b"[" * 100_000, b"[[0, 1, {}]"],
)  # fmt: skip
def test_a_damaged_section_is_an_error(tmp_path, section):
    path = Path(tmp_path, "rules.cbt")
    Table.build(PREDICATES, rules=RULES).save(path)
    file = open_table_file(path)
    keys = ("engine", "names", "interfaces", "filters", "constraints", "covered")
    arrays = {name: array.copy() for name, array in file.arrays.items()} | {
        "rule_details": np.frombuffer(section, np.uint8)
    }
    write_table_file(path, arrays, {key: file.metadata[key] for key in keys})
    table = CompiledTable.open(path)
    for read in (lambda: table.rules, lambda: table.match({"x": 1})):  # matching needs the priorities
        with pytest.raises(TableFileError, match="its rules are incomplete"):
            read()


def test_the_section_is_json(tmp_path):
    Table.build(PREDICATES, rules=RULES).save(tmp_path / "rules.cbt")
    section = bytes(open_table_file(tmp_path / "rules.cbt").arrays["rule_details"])
    assert json.loads(section) == [[0, -5, {}], [1, 2**63 - 1, METADATA], [3, 0, {"a": 1}]]
