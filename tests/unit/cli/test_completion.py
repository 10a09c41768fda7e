"""Completion scripts: every command and option of the parser is in them, and texts are quoted."""

import pytest

from cbnet.cli.app import build_app
from cbnet.cli.completion import SCRIPTS, CommandNode, OptionNames, command_tree, fish_script, zsh_script


@pytest.fixture(scope="module")
def nodes():
    import typer

    return [*command_tree(typer.main.get_command(build_app(None)), "cbnet")]


def test_tree_has_the_commands_and_options_of_the_parser(nodes):
    by_path = {node.path: node for node in nodes}
    assert {"check", "up", "bench", "completion"} <= {name for name, _ in by_path["cbnet"].commands}
    rules = next(option for option in by_path["cbnet match"].options if "--rules" in option.names)
    assert rules == OptionNames(
        ("--rules", "-r"), "Rule file (.toml, .jsonl, .parquet) or compiled table (.cbt)", has_value=True
    )
    json = next(option for option in by_path["cbnet match"].options if "--json" in option.names)
    assert not json.has_value
    assert "cbnet bench router" in by_path


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_names_every_command(cbnet, nodes, shell):
    outcome = cbnet("completion", shell)
    assert outcome.code == 0
    assert outcome.out == SCRIPTS[shell](nodes)
    assert all(node.path in outcome.out for node in nodes)


def test_unknown_shell_is_an_error_that_names_the_others(cbnet):
    outcome = cbnet("completion", "ksh")
    assert (outcome.code, outcome.err) == (2, "error: no completion for ksh; choose one of bash, zsh, fish\n")


def test_quotes_of_help_texts_are_escaped():
    node = CommandNode("cbnet", (("sub", "a router's \\ view"),), ())
    assert "'sub:a router'\\''s \\ view'" in zsh_script([node])
    assert "-d 'a router\\'s \\\\ view'" in fish_script([node])
