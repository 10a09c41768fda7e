"""Completion of commands and options, which Typer provides."""

import pytest


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("cbnet be", ["bench"]),
        ("cbnet durable ", ["list", "limit", "remove", "peek", "move", "purge", "forget", "backup", "restore"]),
        ("cbnet match --ru", ["--rules"]),
        ("cbnet match match --ru", ["--rules"]),  # the second is an operand, not a command
        ("cbnet match ", []),  # an operand: bash itself offers files
    ],
)
def test_bash_completes_commands_and_options(cbnet, monkeypatch, words, expected):
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    monkeypatch.setenv("_CBNET_COMPLETE", "complete_bash")
    outcome = cbnet()
    assert (outcome.out.split(), outcome.err) == (expected, "")
