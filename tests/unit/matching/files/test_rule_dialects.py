"""Rules of a file in their dialects."""

import json

import pytest

from cbnet import Table, parse
from cbnet.errors import FileError, InputError
from cbnet.matching.files.text_rules import read_rules


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


EXPECTED = {"text": parse("x in (1, 2)"), "object": parse("x in (1, 2) and y = 3"), "own": parse("x = 9")}


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
    expected = "{}: the values of a field must be in a list"
    found = places(written(tmp_path, "r.jsonl", "\n".join(rows)))
    assert found == [(1, 39, expected.format("é")), (2, 44, expected.format("y"))]
    toml = "[rules]\na = '{\"x\": 57}'\n[rules.b.when]\nx = 57\n[rules.c]\nwhen = { x = { y = 57 } }\n"
    found = places(written(tmp_path, "r.toml", toml))
    assert found == [(2, 12, expected.format("x")), (4, 5, expected.format("x")), (6, 20, expected.format("x.y"))]


def test_patterns_that_are_not_json_have_a_position_in_the_file(tmp_path):
    toml = "[rules]\na = 'text'\nb = '''\n{\n  b'''\n"
    assert [place[:2] for place in places(written(tmp_path, "r.toml", toml))] == [(2, 6), (5, 3)]
    (place,) = places(written(tmp_path, "r.jsonl", '{"name": "a", "when": "{\\n  é"}'))
    assert place[:2] == (1, 29)


def test_a_pattern_is_no_predicate_of_cbnet(tmp_path):
    path = written(tmp_path, "r.jsonl", '{"name": "a", "when": {"x": [1]}, "dialect": "cbnet"}')
    ((line, column, problem),) = places(path)
    assert (line, column) == (1, 23)
    assert problem.startswith("a predicate must be a string")


def test_tables_are_built_from_patterns():
    table = Table.build({"a": '{"x": [1]}', "b": {"x": [1, 2]}, "c": parse("x = 3")}, dialect="eventbridge")
    assert [table.match({"x": x}) for x in (1, 2, 3)] == [["a", "b"], ["b"], ["c"]]
    with pytest.raises(InputError, match="rule 'a': x: the values of a field"):
        Table.build({"a": {"x": 5}}, dialect="eventbridge")


def test_commands_take_a_dialect(cbnet, tmp_path):
    path = written(tmp_path, "r.toml", "[rules]\na = '{\"x\": [1, 2]}'\n")
    assert cbnet("check", '{"x": [1, 2]}', "-d", "eventbridge").out.startswith("predicate  x in (1, 2)\n")
    assert cbnet("covers", '{"x": [{"prefix": "a"}]}', '{"x": ["ab"]}', "--dialect", "eventbridge").out == "yes\n"
    outcome = cbnet("compile", "--rules", path, "-o", tmp_path / "r.cbt", "--dialect", "eventbridge")
    assert outcome.code == 0
    assert Table.open(tmp_path / "r.cbt").match({"x": 2}) == ["a"]
    assert cbnet("inspect", path, "--dialect", "eventbridge").code == 0
    assert "unknown dialect 'klingon'" in cbnet("compile", "-r", path, "-o", tmp_path / "x.cbt", "-d", "klingon").err


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        ("r.toml", "dialect = 'eventbridge'\n[rules]\nbig = { detail = { x = [1] } }", "put the pattern under `when`"),
        ("r.jsonl", '{"name": "big", "dialect": "eventbridge", "detail": {}}', "put the pattern under `when`"),
        ("r.jsonl", '{"name": "big", "when": "true", "wrong": 1}', "use name, when, priority, metadata, dialect"),
        ("r.jsonl", '{"name": "big"}', 'write "when": …'),
        ("r.toml", "[rules.big]\npriority = 1", "write when = …; a name with a dot needs quotes"),
    ],
)
def test_hints_are_in_the_syntax_of_the_file(tmp_path, name, text, hint):
    with pytest.raises(FileError) as caught:
        read_rules(written(tmp_path, name, text))
    assert [mistake.hint for mistake in caught.value.errors] == [hint]
