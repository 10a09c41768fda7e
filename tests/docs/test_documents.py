"""The examples of the documents print the output that is shown, and links have targets."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(document, language):
    return [text for found, text in BLOCK.findall(document.read_text()) if found == language]


def with_blocks(language):
    documents = [document for document in DOCUMENTS if blocks(document, language)]
    return pytest.mark.parametrize("document", documents, ids=lambda document: str(document.relative_to(ROOT)))


@with_blocks("pycon")
def test_python_sessions(document):
    text = "\n".join(blocks(document, "pycon"))
    session = doctest.DocTestParser().get_doctest(text, {}, document.name, str(document), 0)
    reports = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session, out=reports.append)
    assert not reports, "".join(reports)


def steps(block):
    """Yield each command of a console block, a here-document included, with its expected output."""
    for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, rest = step.partition("\n")
        if (here := re.search(r"<<'(\w+)'", command)) is not None:
            body, _, rest = rest.partition(f"\n{here[1]}\n") if rest else ("", "", "")
            command = f"{command}\n{body}\n{here[1]}"
        yield command, rest.rstrip("\n")


@with_blocks("console")
def test_console_sessions(document, tmp_path):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1"}
    for block in blocks(document, "console"):
        for command, expected in steps(block):
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert (done.stdout + done.stderr).rstrip("\n") == expected, command


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_links_have_targets(document):
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", document.read_text()):
        path = document.parent / target if target else document
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), f"{target}#{anchor}"


def anchors(document):
    """Return the anchors that GitHub gives to the headings of a document."""
    prose = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", prose, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
