"""Hooks of the site: documents outside docs/, and escaped pipes.

The Markdown files beside the README are pages of the site; other files that a page links to are copied as text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = {
    "INSTALL.md": "install.md",
    "UPGRADING.md": "upgrading.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
}
ORIGINS = {page: name for name, page in PAGES.items()}
CODE_IN_TABLE = re.compile(r"^\|.*`.*\\\|.*$", re.MULTILINE)
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace the links that enter or leave docs/; show `a \\| b` in a table as GitHub does."""
    uri = page.file.src_uri
    origin = ORIGINS.get(uri, f"docs/{uri}")

    def replaced(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), link[2]))
        if not (ROOT / target).is_file() or (uri not in ORIGINS and target.startswith("docs/")):
            return link[0]  # mkdocs resolves it, or reports it
        path = _path(target, config, files)
        return link[1] + posixpath.relpath(path, posixpath.dirname(uri) or ".") + link[3]

    return CODE_IN_TABLE.sub(_without_escapes, LINK.sub(replaced, markdown))


def _without_escapes(row: re.Match[str]) -> str:
    """Return a row with plain pipes in code: Python-Markdown needs no backslash there, and shows it."""
    return re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), row[0])


def _path(target: str, config: MkDocsConfig, files: Files) -> str:
    """Return the path in the site of a file of the repository; copy it if it is no page."""
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    if target in PAGES:
        return PAGES[target]
    path = f"files/{target}.txt"  # a browser shows text, and would save other files
    if files.get_file_from_path(path) is None:
        files.append(File.generated(config, path, content=(ROOT / target).read_text("utf-8")))
    return path
