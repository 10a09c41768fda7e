"""Rules in TOML and JSON Lines: their forms, and the line and column of every mistake."""

import json
import time

import pytest

from cbnet import Rule, parse
from cbnet.errors import FileError, InputError
from cbnet.matching.files.text_rules import read_rules


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_toml_rules_are_texts_lists_of_texts_or_tables(tmp_path):
    text = """
        dialect = "cbnet"
        [rules]
        milan = 'dest = "MXP"'
        'a b' = ['x = 1', '#sale']
        none = []
        inline = { when = 'x = 1', priority = -3 }
        [rules.pager]
        when = ['severity >= 4', '#urgent']
        priority = 10
        dialect = "cbnet"
        metadata.owner = "ops"
        [rules.pager.metadata.steps]
        numbers = [1, 2.5, true]
        [rules."web.team"]
        when = 'path ^= "/shop"'
    """
    rules = read_rules(written(tmp_path, "p.toml", text))
    assert rules.predicates == {
        "milan": parse('dest = "MXP"'), "a b": parse("x = 1 or #sale"), "none": parse("false"), "inline": parse("x = 1"),
        "pager": parse("severity >= 4 or #urgent"), "web.team": parse('path ^= "/shop"'),
    }  # fmt: skip
    metadata = {"owner": "ops", "steps": {"numbers": [1, 2.5, True]}}
    assert rules.rules == [Rule("inline", -3), Rule("pager", 10, metadata)]


def test_json_lines_join_repeated_names_and_keep_numbers(tmp_path):
    rows = [
        {"dialect": "cbnet"}, {"name": 1, "when": "x = 1", "priority": 2}, {"name": "a", "when": ["y = 1", "#t"]},
        {"name": 1, "when": "z = 1", "metadata": {"deep": [{"a": None}, "é"]}}, {"name": 1, "when": "w = 1", "priority": 2},
    ]  # fmt: skip
    text = "\n\n".join(map(json.dumps, rows)) + "\r\n"
    rules = read_rules(written(tmp_path, "p.jsonl", text))
    assert rules.predicates == {1: parse("x = 1 or z = 1 or w = 1"), "a": parse("y = 1 or #t")}
    assert rules.rules == [Rule(1, 2, {"deep": [{"a": None}, "é"]})]


def mistakes(path):
    with pytest.raises(FileError) as error:
        read_rules(path)
    assert all(mistake.file == str(path) for mistake in error.value.errors)
    return error.value.errors


def places(path):
    return [(mistake.line, mistake.column) for mistake in mistakes(path)]


def test_all_mistakes_of_toml_texts_are_reported_with_their_positions(tmp_path):
    text = "\n".join(
        [
            "[rules]",
            "good = 'x = 1'",
            "literal = 'x == 1'",  # == at 14
            'basic = "dest == \\"MXP\\""',  # == at 15
            "multi = '''",
            "x = 1 or",
            "  y =< 3'''",  # =< at 5
            "number = 5",  # the value at 10
            "list = ['x = 1', 'y = ']",  # the end of the second text at 23
            'escaped = "\\u0061 = \\t\\"\\U0001F600\\" and y =< 1"',  # =< at 44
            'broken = """x = 1 and \\',
            '   y =< 1"""',  # =< at 6
            "[rules.table]",
            "when = ['x = 1', 'x =< 1']",  # =< at 21
        ]
    )
    expected = [(3, 14), (4, 15), (7, 5), (8, 10), (9, 23), (10, 44), (12, 6), (14, 21)]
    assert places(written(tmp_path, "p.toml", text)) == expected
    windows = written(tmp_path, "p.toml", text.replace("\n", "\r\n"))
    assert places(windows) == expected


def test_mistakes_of_toml_members_are_reported_with_their_positions(tmp_path):
    text = "\n".join(
        [
            'dialect = "klingon"',  # the value at 11
            "[rules]",
            "a.b = 'x = 1'",  # the key b at 3
            "inline = { when = 'true', priority = 1.5 }",  # 1.5 at 38
            "[rules.a2]  # comment = '['",
            "priority = 9223372036854775808",  # no `when`, at the header 5:8; the value at 12
            "[rules.a3]",
            "when = 'true'",
            "metadata = 'text'",  # the value at 12
            "metdata = {}",  # the key at 1: then no other mistake of this rule
            "[rules.a4]",
            "when = 'x ='",
            "dialect = 'sql'",  # the value at 11; the text is not parsed
            "[rules.a5]",
            "when = 'true'",
            "[rules.a5.metadata]",
            "number = nan",  # the metadata at 8 of 16:1
            "[oops]",  # the key at 2
        ]
    )
    path = written(tmp_path, "p.toml", text)
    assert places(path) == [(1, 11), (3, 3), (4, 38), (5, 8), (6, 12), (10, 1), (13, 11), (16, 11), (18, 2)]
    assert [mistake.problem for mistake in mistakes(path)] == [
        "unknown dialect 'klingon'",
        "unknown key 'b'",
        "the priority must be a 64-bit int",
        "the rule 'a2' has no `when`",
        "the priority must be a 64-bit int",
        "unknown key 'metdata'",
        "unknown dialect 'sql'",
        "metadata.number: NaN is not a value",
        "unknown key 'oops'",
    ]


def test_all_mistakes_of_json_lines_are_reported_with_their_positions(tmp_path):
    rows = [
        '{"name": "a", "when": "dest = \\"MXP\\" and x == 1"}',  # == at 45
        '{"name": "b"}',
        "[]",
        '  {"name": true, "when": "x = 1"}',  # true at 12
        '{"name": "c", "when": 5}',  # 5 at 23
        '{"name": "d", "when": "caf\\u00e9 = 1"}',  # the escape of é at 27
        '{"name": "e", "when": ["true", "#\\"\\ud83d\\ude00\\" and x =<"]}',  # =< at 57, after a pair of surrogates
        '{"when": "true"}',
        '{"name": "f", "when": "true", "priority": "high"}',  # the value at 43
        '{"name": "g", "when": "true", "metadata": [1]}',  # the value at 43
        '{"name": "h", "when": "true", "name": "i"}',  # the second name at 31
        '{"name": "h", "when": "true"',  # the end at 29
        '{"interface": "a", "predicate": "x = 1"}',  # the keys at 2 and 20
        '{"dialect": "cbnet"}',  # not on the first line
        '{"name": "h", "when": "true", "metadata": {"a": NaN}}',  # the metadata at 43
    ]
    path = written(tmp_path, "p.jsonl", "\n".join(rows))
    assert places(path) == [
        (1, 45), (2, 1), (3, 1), (4, 12), (5, 23), (6, 27), (7, 57), (8, 1), (9, 43), (10, 43), (11, 31), (12, 29),
        (13, 2), (13, 20), (14, 1), (15, 43),
    ]  # fmt: skip


def test_names_of_version_0_1_are_errors_that_state_the_new_ones(tmp_path):
    (mistake,) = mistakes(written(tmp_path, "p.toml", "[interfaces]\na = 'x = 1'\n"))
    assert (mistake.problem, mistake.hint) == ("unknown key 'interfaces'", "write rules")
    first, second = mistakes(written(tmp_path, "p.jsonl", '{"interface": "a", "predicate": "x = 1"}'))
    assert (first.hint, second.hint) == ("write name", "write when")


def test_rules_of_one_name_must_agree_on_priority_and_metadata(tmp_path):
    rows = ['{"name": "a", "when": "true", "priority": 1}', '{"name": "a", "when": "true", "priority": 2}']
    (mistake,) = mistakes(written(tmp_path, "p.jsonl", "\n".join(rows)))
    assert (mistake.line, mistake.column, mistake.problem) == (2, 43, "the rule 'a' has another priority above")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("p.toml", "[rules\n", "not TOML"),
        ("p.toml", "", "no table of rules"),
        ("p.toml", "rules = 'x = 1'\n", "no table of rules"),
        ("p.toml", "[[rules]]\nname = 'a'\n", "no table of rules; write [rules.NAME] for each rule"),
        ("p.toml", b"\xff", "not UTF-8"),
        ("p.jsonl", "[" * 100_000, "JSON too deeply nested"),
        ("p.jsonl", '{"name": "a", "when": "true", "metadata": ' + '{"a":' * 80 + "1" + "}" * 81, "deeper than 64 levels"),
    ],
)  # fmt: skip
def test_an_unreadable_file_is_refused_with_a_reason(tmp_path, name, content, problem):
    with pytest.raises(InputError) as error:
        read_rules(written(tmp_path, name, content))
    assert problem in str(error.value)


def test_a_missing_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_rules(tmp_path / "none.toml")


def test_the_position_of_a_text_is_not_that_of_its_key_or_of_another_text(tmp_path):
    text = "[rules]\nx = 'x'\nlist = ['x = 1 and y', 'y']\n[rules.'x y']\nwhen = 'x'  # when = 'x ='\n"
    # the end of each text
    assert places(written(tmp_path, "p.toml", text)) == [(2, 7), (3, 21), (3, 26), (5, 10)]


def test_twenty_mistakes_are_printed_and_the_others_counted(tmp_path):
    lines = "".join(f"a{n} = 'x =< 1'\n" for n in range(25))
    with pytest.raises(FileError) as error:
        read_rules(written(tmp_path, "p.toml", f"[rules]\n{lines}"))
    assert len(error.value.errors) == 25
    assert str(error.value).count("unknown operator") == 20
    assert "5 more mistakes; correct the first ones" in str(error.value)


@pytest.mark.parametrize("value", ["[" * 5_000, "9" * 5_000])
def test_toml_that_python_cannot_read_is_an_error(tmp_path, value):
    with pytest.raises(FileError):
        read_rules(written(tmp_path, "p.toml", f"[rules]\na = {value}\n"))


@pytest.mark.parametrize("predicate", ["x = 1", "x =< 1"])
def test_large_files_are_read_in_linear_time(tmp_path, predicate):
    lines = "".join(f"i{n} = '{predicate}'\n" for n in range(10_000))
    rows = f'{{"name": 1, "when": "{predicate}"}}\n' * 10_000
    start = time.process_time()
    for path in (written(tmp_path, "p.toml", f"[rules]\n{lines}"), written(tmp_path, "p.jsonl", rows)):
        try:
            assert len(read_rules(path).predicates) in (1, 10_000)
        except FileError as error:
            assert len(error.errors) == 10_000
    assert time.process_time() - start < 40
