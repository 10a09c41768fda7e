"""The commands stand in the same order in the help and in the reference, and none is missing in either."""

import re
from pathlib import Path

REFERENCE = Path(__file__).parents[3] / "docs/reference/command-line.md"


def test_the_reference_has_every_command_of_the_help_in_its_order(cbnet):
    helped = re.findall(r"^│ ([a-z]+)  +[A-Z]", cbnet("--help").out, re.MULTILINE)
    assert len(helped) > 20
    text = REFERENCE.read_text(encoding="utf-8")
    sections = [name for name in re.findall(r"^## ([a-z]+)", text, re.MULTILINE) if name in helped]
    synopsis = [name for name in re.findall(r"^cbnet ([a-z]+)", text, re.MULTILINE) if name in helped]
    assert list(dict.fromkeys(sections)) == helped
    assert list(dict.fromkeys(synopsis)) == helped


def test_option_without_its_argument_points_to_the_help_of_the_command(cbnet):
    assert "see `cbnet match --help`" in cbnet("match", "--rules", "x.toml", "--explain").err
