"""Every module path of the documents exists.

A path is relative to src/cbnet, or begins with `tests/` or `lab/`. A bare file name such as `filter.py` belongs to the folder of
the path before it in the same table cell, or in the same paragraph.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "cbnet"
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
TOP = ("tests/", "lab/")
FOLDERS = {"tests", "lab", *(entry.name for entry in PACKAGE.iterdir() if entry.is_dir())}
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
MODULE = re.compile(r"(?:\w+/)*\w+\.(?:py|pyx|pxd)")
FOLDER = re.compile(r"(?:\w+/)+")


def passages(text):
    """Yield the table cells and the paragraphs outside code blocks."""
    for paragraph in re.split(r"\n\s*\n", FENCE.sub("", text)):
        for line in (lines := paragraph.splitlines()):
            if line.startswith("|"):
                yield from line.split("|")
        yield "\n".join(line for line in lines if not line.startswith("|"))


def missing_paths(text):
    """Return the paths of modules and folders in backticks that do not exist."""
    missing = []
    for passage in passages(text):
        folder = ""
        for path in CODE.findall(passage):
            path = path.removeprefix("src/cbnet/")
            is_module, top = MODULE.fullmatch(path), path.partition("/")[0]
            if is_module and "/" not in path:
                path = folder + path
            elif not (top in FOLDERS and (is_module or FOLDER.fullmatch(path))):
                continue
            folder = path[: path.rfind("/") + 1]
            if not ((ROOT if path.startswith(TOP) else PACKAGE) / path).exists():
                missing.append(path)
    return missing


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_module_paths_exist(document):
    assert missing_paths(document.read_text()) == []


def test_missing_module_is_reported():
    assert missing_paths("The parser is `language/syntax/grammar.py`.") == ["language/syntax/grammar.py"]


def test_missing_folder_is_reported():
    assert missing_paths("| parsing | `language/grammar/` |") == ["language/grammar/"]


def test_bare_name_belongs_to_the_folder_before_it():
    assert missing_paths("| `language/message.py`, `filter.py`, `lexer.py` |") == ["language/lexer.py"]


def test_table_cells_do_not_share_a_folder():
    assert missing_paths("| `language/message.py` | `filter.py` |") == ["filter.py"]


def test_missing_test_is_reported():
    assert missing_paths("See `tests/docs/test_module_paths.py`, `test_paths.py`.") == ["tests/docs/test_paths.py"]


def test_other_code_is_ignored():
    assert missing_paths("See `deploy/router.py`, `and/or`, `price < 500` and `match(df)`.") == []
