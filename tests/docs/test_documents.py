"""The examples of a document print the output that is shown, in order and in one folder; links have targets."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
RUN = {"console", "pycon"}
PLAIN = re.compile(r"cbnet ((?:'[^']*'|[^|<>&;$`*\\'])*?)( 2> /dev/null)?(?: \| (.*))?", re.DOTALL)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples(document):
    """Return the language and the text of each example."""
    return [(language, text) for language, text in BLOCK.findall(document.read_text()) if language in RUN]


def run_python(text, document, names):
    """Run a Python session; names: those of the earlier sessions of the document, and its own after the run."""
    session = doctest.DocTestParser().get_doctest(text, names, document.name, str(document), 0)
    reports = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session, out=reports.append, clear_globs=False)
    names.update(session.globs)
    assert not reports, "".join(reports)


def steps(block):
    """Yield each command of a console block, a here-document included, with its expected output."""
    for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, rest = step.partition("\n")
        if (here := re.search(r"<<'(\w+)'", command)) is not None:
            body, _, rest = rest.partition(f"\n{here[1]}\n") if rest else ("", "", "")
            command = f"{command}\n{body}\n{here[1]}"
        yield command, rest.rstrip("\n")


def run_console(block, folder, cbnet):
    """Run a command of cbnet in this process, which is faster, and what else a line has in a shell."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, expected in steps(block):
        printed, errors, rest = "", "", command
        if (plain := PLAIN.fullmatch(command)) is not None:
            arguments, is_quiet, rest = plain.groups()
            done = cbnet(*shlex.split(arguments))
            printed, errors = done.out, "" if is_quiet else done.err
        if rest:
            shell = subprocess.run(
                ["bash", "-c", rest],
                cwd=folder,
                env={**os.environ, "PATH": path},
                input=printed,
                capture_output=True,
                text=True,
                timeout=300,
            )
            printed, errors = shell.stdout, errors + shell.stderr
        assert (printed + errors).rstrip("\n") == expected, command


@pytest.mark.parametrize(
    "document", [*filter(examples, DOCUMENTS)], ids=lambda document: str(document.relative_to(ROOT))
)
def test_examples_print_what_is_shown(document, tmp_path, monkeypatch, request, cbnet):
    if any("spark_session(" in text for _, text in examples(document)):
        request.getfixturevalue("spark")  # else an example would leave a session that later tests cannot use
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    names = {}
    for language, text in examples(document):
        if language == "pycon":
            run_python(text, document, names)
        else:
            run_console(text, tmp_path, cbnet)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_links_have_targets(document):
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", document.read_text()):
        path = document.parent / target if target else document
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), f"{target}#{anchor}"


def anchors(document):
    """Return the anchors of a document: those that GitHub gives to headings, and those in HTML."""
    prose = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", prose, flags=re.MULTILINE)
    given = re.findall(r'<a id="([^"]+)">', prose)
    return {*given, *(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)}
