"""Completion in a real bash."""

import subprocess
import sys

import pytest

_COMPLETE = """
eval "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_cbnet && echo "${COMPREPLY[*]}"
"""


@pytest.fixture(scope="module")
def script():
    command = [sys.executable, "-m", "cbnet", "completion", "bash"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["cbnet", "be"], "bench"),
        (["cbnet", "durable", ""], "list limit remove peek move purge forget backup restore"),
        (["cbnet", "match", "--ru"], "--rules"),
        (["cbnet", "match", "match", "--ru"], "--rules"),  # the second is an operand, not a command
        (["cbnet", "match", "--rules", "--"], ""),  # the value of an option: bash itself offers files
        (["cbnet", "match", ""], ""),  # an operand: the same
    ],
)
def test_bash_completes_commands_and_options(script, words, expected):
    done = subprocess.run(
        ["bash", "--norc", "-c", _COMPLETE, "bash", script, *words], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == (expected, "")


def test_bash_offers_files_where_no_command_follows(script):
    done = subprocess.run(
        ["bash", "--norc", "-c", 'eval "$1"; complete -p cbnet', "bash", script], capture_output=True, text=True
    )
    assert done.stdout == "complete -o bashdefault -o default -F _cbnet cbnet\n"
