"""A real browser: Chromium of Debian's packages, which is installed here if it is missing."""

import os
import shutil
import subprocess

import pytest
from playwright.sync_api import sync_playwright

INSTALL = "apt-get install --yes --no-install-recommends chromium"


@pytest.fixture(scope="session")
def chromium():
    """The path of Chromium. Where it can neither be found nor installed, tests fail with the command to run."""
    if shutil.which("chromium") is None and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"stdout": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
        if subprocess.run(INSTALL.split(), check=False, **quiet).returncode:  # the lists of packages may be old
            subprocess.run(["apt-get", "update"], check=False, **quiet)
            subprocess.run(INSTALL.split(), check=False, **quiet)
    found = shutil.which("chromium")
    if found is None:
        pytest.fail(f"there is no Chromium; as root, run: {INSTALL}", pytrace=False)
    return found


@pytest.fixture(scope="module")  # its event loop runs as long as it is open, and other tests have their own
def browser(chromium):
    with sync_playwright() as playwright:
        # As root Chromium has no sandbox; what it opens here is ours.
        opened = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser):
    """Open a page of a file; whatever it says on the console, and every request that is not for a file, is a mistake."""
    mistakes, contexts = [], []

    def visit(path, *, width=1200, colours="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=colours)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: mistakes.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: mistakes.append(f"error: {error}"))
        page.on("request", lambda request: _note_request(request.url, mistakes))
        page.goto(path.as_uri())
        if page.locator(".vega").count():
            page.wait_for_selector("html[data-drawn=yes]", state="attached")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert mistakes == []


def _note_request(url, mistakes):
    if not url.startswith(("file:", "data:", "blob:")):
        mistakes.append(f"request: {url}")
