import json

import pytest

from cbnet import Message
from cbnet.language.relations.witness import Search


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def test_check_shows_the_reduction_and_the_size(cbnet):
    outcome = cbnet("check", "(x > 10 and y = 100) or (y > 0)")
    assert outcome.code == 0
    assert outcome.out.splitlines() == [
        "predicate  x > 10 and y = 100 or y > 0", "reduced    y > 0", "size       3, reduced 1",
    ]  # fmt: skip


def test_check_as_json(cbnet):
    text = 'alert = "congestion" and severity > 2 or alert = "accident"'
    assert rows(cbnet("check", text, "--json").out) == [{"predicate": text, "reduced": text, "size": 3}]


def test_check_shows_the_error_with_its_caret(cbnet):
    outcome = cbnet("check", "price == 5")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "error: 1:7: unknown operator `==`; write `=`\n  price == 5\n        ^^\n"


def test_check_shows_the_error_as_json(cbnet):
    outcome = cbnet("check", "price == 5", "--json")
    assert (outcome.code, outcome.err) == (2, "")
    assert rows(outcome.out) == [{"error": "unknown operator `==`", "line": 1, "column": 7, "hint": "write `=`"}]


@pytest.mark.parametrize(
    ("wide", "narrow", "answer"),
    [
        ("severity > 2", "severity > 3", True),
        ("severity > 3", "severity > 2", False),
        ("x > 10 and y = 100 or y > 0", "y = 100", True),
    ],
)
def test_covers_says_yes_or_no(cbnet, wide, narrow, answer):
    outcome = cbnet("covers", wide, narrow)
    assert outcome.code == 0
    assert outcome.out.splitlines()[0] == ("yes" if answer else "no")
    (row,) = rows(cbnet("covers", wide, narrow, "--json").out)
    assert row["covers"] == answer
    assert (row["counterexample"] is None) == answer


def test_covers_shows_a_counterexample(cbnet):
    # the only whole number above 2 and not above 3
    assert rows(cbnet("covers", "severity > 3", "severity > 2", "--json").out)[0]["counterexample"] == {"severity": 3}
    assert '{"severity": 3} matches B and not A' in cbnet("covers", "severity > 3", "severity > 2").out


def test_covers_refuses_a_wrong_counterexample(cbnet, monkeypatch):
    wrong = Search(Message({"severity": 9}), is_exhausted=False)  # it matches both
    monkeypatch.setattr("cbnet.language.search_counterexample", lambda *_: wrong)
    outcome = cbnet("covers", "severity > 3", "severity > 2")
    assert outcome.code == 1
    assert "wrong counter-example" in outcome.err


def test_covers_says_when_filters_may_cover_together(cbnet):
    outcome = cbnet("covers", "x < 5 or x >= 5", "x != 9")
    assert outcome.out.startswith("no\n")
    assert "together" in outcome.out


@pytest.fixture
def files(tmp_path):
    table = tmp_path / "predicates.toml"
    table.write_text("[rules]\nmilan = 'dest = \"MXP\" and price < 500'\nsale = '#sale'\n")
    messages = tmp_path / "messages.jsonl"
    messages.write_text('{"dest": "MXP", "price": 100, "#": ["sale"]}\n\nnonsense\n{"dest": "MXP", "price": 600}\n')
    return table, messages


def test_match_prints_a_line_per_message_and_goes_on_after_a_bad_line(cbnet, files):
    table, messages = files
    outcome = cbnet("match", "--rules", table, messages)
    assert outcome.code == 2
    assert outcome.out.splitlines() == ["1: milan, sale", "4: (none)"]
    assert f"error: {messages}:3:1: expected a JSON object" in outcome.err
    assert outcome.err.endswith("2 messages, 2 matches, 1 bad line\n")


def test_match_as_json_from_standard_input(cbnet, files):
    table, messages = files
    outcome = cbnet("match", "--rules", table, "--json", stdin=messages.read_bytes())
    assert (outcome.code, outcome.err) == (2, "")
    first, bad, last, summary = rows(outcome.out)
    assert first == {"message": 1, "rules": ["milan", "sale"]}
    assert bad.keys() == {"error", "line", "column", "hint"}
    assert (bad["line"], bad["column"]) == (3, 1)
    assert last == {"message": 4, "rules": []}
    assert summary == {"messages": 2, "matches": 2, "errors": 1, "rules": 2, "never_matched": []}


def test_match_explains_every_rule(cbnet, files):
    table, messages = files
    outcome = cbnet("match", "--rules", table, messages, "--explain", "all")
    assert '    milan: matched by dest = "MXP" and price < 500' in outcome.out
    assert "price < 500 fails: price is 600" in outcome.out
    (row, _) = [row for row in rows(cbnet("match", "--rules", table, messages, "--explain", "all", "--json").out)
                if "message" in row]  # fmt: skip
    assert [reason["rule"] for reason in row["explain"]] == ["milan", "sale"]
    assert row["explain"][1] == {"rule": "sale", "filter": "#sale", "closest": []}


def test_match_of_good_input_ends_with_zero(cbnet, files):
    assert cbnet("match", "--rules", files[0], stdin=b'{"x": 1}\n').code == 0
    assert cbnet("match", "--rules", files[0], stdin=b"").code == 0


def test_match_reports_all_mistakes_of_the_table(cbnet, tmp_path):
    table = tmp_path / "p.toml"
    table.write_text("[rules]\na = 'x == 1'\nb = 'x ='\n")
    outcome = cbnet("match", "--rules", table, "--json", stdin=b"")
    assert outcome.code == 2
    assert [(row["line"], row["column"]) for row in rows(outcome.out)] == [(2, 8), (3, 9)]


def test_demo_shows_receivers_messages_and_explanations(cbnet):
    outcome = cbnet("demo", "--quick")
    assert outcome.code == 0
    for said in (
        "Receivers",
        "Messages",
        "price < 500 fails: price is 600",
        "30 messages, 8 receivers",
    ):
        assert said in outcome.out
    assert len(rows(cbnet("demo", "--quick", "--json").out)) == 30


def test_every_receiver_and_nobody_occur_in_the_demo(cbnet):
    told = [row["rules"] for row in rows(cbnet("demo", "--quick", "--json").out)]
    assert len({receiver for receivers in told for receiver in receivers}) == 8
    assert [] in told


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["check"], "Missing argument 'TEXT'"),
        (["nonsense"], "No such command"),
        (["match"], "Missing option '--rules'"),
        (["match", "--nonsense"], "No such option"),
        (["match", "--rules", "none.toml"], "none.toml: cannot read: No such file"),
        (["match", "--rules", "none.xml"], "unknown file type"),
        (["covers", "x = 1"], "Missing argument 'B'"),
        (["covers", "x = 1", "x = "], "a value is missing"),
    ],
)
def test_bad_use_gets_one_clear_line_and_exit_code_2(cbnet, arguments, problem):
    outcome = cbnet(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert problem in outcome.err.splitlines()[0]
    as_json = cbnet(*arguments, "--json")
    assert (as_json.code, as_json.err) == (2, "")
    assert problem in rows(as_json.out)[0]["error"].replace("none.xml: ", "")


def test_without_a_command_the_help_is_shown(cbnet):
    outcome = cbnet()
    assert outcome.code == 0
    assert "covers" in outcome.out


def test_a_message_file_that_is_missing_is_named(cbnet, files):
    outcome = cbnet("match", "--rules", files[0], "none.jsonl")
    assert (outcome.code, outcome.err) == (2, "error: none.jsonl: cannot read: No such file or directory\n")


def test_a_full_disk_and_a_narrow_encoding_end_without_a_traceback():
    import os
    import subprocess
    import sys
    from pathlib import Path

    command = [sys.executable, "-m", "cbnet", "check", 'x = "é"']
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "error: cannot write: No space left on device\n")
    done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, text=True)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_rules_that_would_be_misread_are_quoted(cbnet, tmp_path):
    table = tmp_path / "p.jsonl"
    lines = [f'{{"name": {name}, "when": "true"}}' for name in ("7", '"7"', '"a, b"', '""')]
    table.write_text("\n".join(lines))
    assert cbnet("match", "--rules", table, stdin=b"{}").out == '1: 7, "7", "a, b", ""\n'


def test_results_go_to_the_file_also_when_a_terminal_shows_the_progress(files, tmp_path):
    import os
    import pty
    import subprocess
    import sys

    table, messages = files
    terminal, other_end = pty.openpty()
    out = tmp_path / "out.txt"
    with out.open("w") as file:
        command = [sys.executable, "-m", "cbnet", "match", "--rules", table, messages, "--json"]
        done = subprocess.run(command, stdout=file, stderr=other_end, stdin=subprocess.DEVNULL)
    os.close(other_end)
    os.close(terminal)
    assert done.returncode == 2
    assert [row.get("message") for row in rows(out.read_text())] == [1, None, 4, None]


def test_json_is_utf8_in_every_locale():
    import os
    import subprocess
    import sys

    command = [sys.executable, "-m", "cbnet", "check", 'x = "é"', "--json"]
    done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True)
    assert json.loads(done.stdout)["predicate"] == 'x = "é"'


def test_covers_names_the_invalid_predicate(cbnet):
    assert "error: B:1:5: a value is missing" in cbnet("covers", "x = 1", "x = ").err
    assert rows(cbnet("covers", "x = ", "x = 1", "--json").out)[0]["error"] == "A: a value is missing"


def test_json_behind_two_dashes_is_a_text(cbnet):
    outcome = cbnet("check", "--", "--json")
    assert (outcome.code, outcome.out) == (2, "")


def test_reader_that_wants_no_more_ends_a_command_in_silence():
    import os
    import subprocess
    import sys

    reading, writing = os.pipe()
    os.close(reading)
    for arguments in (["--help"], ["check", "x = 1", "--json"]):  # written by Typer, and when it ends
        command = [sys.executable, "-m", "cbnet", *arguments]
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (1, b"")
    os.close(writing)


def test_closed_streams_and_unreadable_files_end_without_a_traceback(files):
    import subprocess
    import sys

    table, _ = files
    for command in (
        '{0} match --rules "{1}" <&-',
        "{0} check 'x = 1' >&-",
        '{0} match --rules "{1}" /proc/self/mem',
    ):
        line = command.format(f"{sys.executable} -m cbnet", table)
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
        assert "Traceback" not in done.stderr, line
