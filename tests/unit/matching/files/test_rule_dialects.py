"""Rules of a file in their dialects; a dialect of this test stands for those whose patterns are JSON.

Its pattern is an object with one list of values per attribute, as text or as an object: {"x": [1, 2]}.
"""

import json
import sys
from types import ModuleType

import pytest

from cbnet import Table, parse
from cbnet.errors import FileError, InputError, PredicateSyntaxError
from cbnet.language import dialects
from cbnet.language.condition import Comparison
from cbnet.language.constraint import Op
from cbnet.language.expression import Attribute, Constant
from cbnet.language.formula import AllOf, AnyOf
from cbnet.matching.files.text_rules import read_rules


def formula(source):
    members = json.loads(source) if isinstance(source, str) else source
    for name, values in members.items():
        if not isinstance(values, list) and isinstance(source, str):
            raise PredicateSyntaxError(f"{name} is not a list", source, source.index(json.dumps(values)))
        if not isinstance(values, list):
            raise InputError(f"{name} is not a list")
    return AllOf(
        tuple(
            AnyOf(tuple(Comparison(Op.EQ, Attribute(name), Constant(value)) for value in values))
            for name, values in members.items()
        )
    )


@pytest.fixture(autouse=True)
def _dialect(monkeypatch):
    module = ModuleType("pattern_dialect")
    module.formula = formula
    monkeypatch.setitem(sys.modules, "pattern_dialect", module)
    monkeypatch.setitem(dialects._MODULES, "eventbridge", "pattern_dialect")


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


EXPECTED = {"text": parse("x = 1 or x = 2"), "object": parse("(x = 1 or x = 2) and y = 3"), "own": parse("x = 9")}


def test_a_toml_file_states_the_dialect_of_its_rules(tmp_path):
    text = """
        dialect = "eventbridge"
        [rules]
        text = '{"x": [1, 2]}'
        [rules.object.when]
        x = [1, 2]
        y = [3]
        [rules.own]
        dialect = "cbnet"
        when = "x = 9"
    """
    assert read_rules(written(tmp_path, "r.toml", text)).predicates == EXPECTED


def test_the_first_json_line_states_the_dialect_of_the_rules(tmp_path):
    rows = [
        {"dialect": "eventbridge"}, {"name": "text", "when": '{"x": [1, 2]}'},
        {"name": "object", "when": {"x": [1, 2], "y": [3]}}, {"name": "own", "when": "x = 9", "dialect": "cbnet"},
    ]  # fmt: skip
    assert read_rules(written(tmp_path, "r.jsonl", "\n".join(map(json.dumps, rows)))).predicates == EXPECTED


def test_a_file_that_names_no_dialect_has_that_of_the_caller(tmp_path):
    path = written(tmp_path, "r.jsonl", '{"name": "a", "when": ["{\\"x\\": [1]}", "{\\"x\\": [2]}"]}')
    assert Table.open(path, dialect="eventbridge").match({"x": 2}) == ["a"]
    with pytest.raises(FileError):
        Table.open(path)


def places(path):
    with pytest.raises(FileError) as error:
        read_rules(path, "eventbridge")
    return [(mistake.line, mistake.column, mistake.problem) for mistake in error.value.errors]


def test_mistakes_in_patterns_have_their_positions(tmp_path):
    rows = [
        '{"name": "a", "when": {"x": [1], "é": 5}}',  # 5 at 39
        '{"name": "a", "when": "{\\"x\\": [1], \\"y\\": 57}"}',  # 57 at 44
    ]
    found = places(written(tmp_path, "r.jsonl", "\n".join(rows)))
    assert found == [(1, 39, "é is not a list"), (2, 44, "y is not a list")]
    toml = "[rules]\na = '{\"x\": 57}'\n[rules.b.when]\nx = 57\n[rules.c]\nwhen = { x = 57 }\n"
    # the position in the text of a; of b and c, which are tables, the position of `when`
    found = places(written(tmp_path, "r.toml", toml))
    assert found == [(2, 12, "x is not a list"), (3, 10, "x is not a list"), (6, 8, "x is not a list")]


def test_errors_with_line_and_column_are_located_in_the_file(tmp_path, monkeypatch):
    def fail(_source):
        raise InputError("not JSON", line=2, column=3)

    monkeypatch.setattr(sys.modules["pattern_dialect"], "formula", fail)
    assert places(written(tmp_path, "r.toml", "[rules]\na = 'text'\nb = '''\na\n  b'''\n"))[1] == (5, 3, "not JSON")
    assert places(written(tmp_path, "r.jsonl", '{"name": "a", "when": "é\\n  b"}')) == [(1, 29, "not JSON")]


def test_a_pattern_is_no_predicate_of_cbnet(tmp_path):
    path = written(tmp_path, "r.jsonl", '{"name": "a", "when": {"x": [1]}, "dialect": "cbnet"}')
    ((line, column, problem),) = places(path)
    assert (line, column) == (1, 23)
    assert problem.startswith("a predicate must be a string")


def test_tables_are_built_from_patterns():
    table = Table.build({"a": '{"x": [1]}', "b": {"x": [1, 2]}, "c": parse("x = 3")}, dialect="eventbridge")
    assert [table.match({"x": x}) for x in (1, 2, 3)] == [["a", "b"], ["b"], ["c"]]
    with pytest.raises(InputError, match="interface 'a': x is not a list"):
        Table.build({"a": {"x": 5}}, dialect="eventbridge")


def test_commands_take_a_dialect(cbnet, tmp_path):
    path = written(tmp_path, "r.toml", "[rules]\na = '{\"x\": [1, 2]}'\n")
    assert cbnet("check", '{"x": [1, 2]}', "-d", "eventbridge").out.startswith("predicate  x = 1 or x = 2\n")
    assert cbnet("covers", '{"x": [1, 2]}', '{"x": [2]}', "--dialect", "eventbridge").out == "yes\n"
    outcome = cbnet("compile", "--rules", path, "-o", tmp_path / "r.cbt", "--dialect", "eventbridge")
    assert outcome.code == 0
    assert Table.open(tmp_path / "r.cbt").match({"x": 2}) == ["a"]
    assert cbnet("inspect", path, "--dialect", "eventbridge").code == 0
    assert "unknown dialect 'klingon'" in cbnet("compile", "-r", path, "-o", tmp_path / "x.cbt", "-d", "klingon").err
