"""The front page lists every page; the API reference has every public name once; lists are lists in the site too.

`make site` checks links, anchors and the navigation.
"""

import re
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
API = DOCS / "reference" / "api"
MODULES = [
    "cbnet",
    "cbnet.language",
    "cbnet.matching",
    "cbnet.network",
    "cbnet.routing",
    "cbnet.spark",
    "cbnet.topology",
]
ELSEWHERE = {"CbnetError", "ColumnWarning", "InputError"}  # on the page of cbnet.errors, where they are defined


def documented(module):
    """Return the names that the page of a module documents."""
    page = (API / f"{module}.md").read_text()
    directive = re.search(rf"^::: {re.escape(module)}\n((?: .*\n)*)", page, re.MULTILINE)
    return re.findall(r"^ +- (\w+)$", directive[1], re.MULTILINE)


def test_front_page_lists_every_page():
    linked = {(DOCS / target).resolve() for target in re.findall(r"\]\(([^)#:]+)\)", (DOCS / "README.md").read_text())}
    listed_elsewhere = {*API.glob("*.md"), *DOCS.glob("reproduction/20*.md")}
    pages = {*DOCS.glob("*/**/*.md")} - listed_elsewhere
    assert sorted(map(str, pages - linked)) == []


@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_in_the_api_reference(module):
    elsewhere = {name for other in MODULES if other != module for name in documented(other)} | ELSEWHERE
    assert set(import_module(module).__all__) - elsewhere == set(documented(module))


@pytest.mark.parametrize("page", sorted(DOCS.glob("**/*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_lists_follow_a_blank_line(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    # Unlike GitHub, Python-Markdown takes a list directly below a paragraph as part of it.
    joined = re.findall(r"^(?![-#>\s]|\d+\. ).*\n(?:- |1\. ).*", prose, re.MULTILINE)
    assert joined == []
