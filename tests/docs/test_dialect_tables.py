"""The tables of the dialects' pages show the translations that the dialects give."""

import re
from pathlib import Path

import pytest

from cbnet import parse

PAGES = Path(__file__).parents[2] / "docs" / "reference" / "dialects"
ROW = re.compile(r"^\| `(.+)` \| `(.+)` \|$", re.MULTILINE)
TABLE = re.compile(r"^\| \w+ \| predicate \|\n\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE)


def rows():
    for page in sorted(PAGES.glob("*.md")):
        for table in TABLE.findall(page.read_text("utf-8")):
            lines = table.splitlines()
            found = ROW.findall(table)
            assert len(found) == len(lines), f"{page.name}: a row is not `rule` | `predicate`"
            yield from ((page.stem, *row) for row in found)


@pytest.mark.parametrize(("dialect", "rule", "predicate"), list(rows()))
def test_translations_are_those_of_the_page(dialect, rule, predicate):
    assert str(parse(rule, dialect=dialect)) == predicate
