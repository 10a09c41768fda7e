import pytest
from support.chromium import browser, chromium  # noqa: F401


@pytest.fixture
def visit(browser):  # noqa: F811
    """Open a page from a file; console output and requests other than for files are errors."""
    problems, contexts = [], []

    def visit(path, *, width=1200, colours="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=colours)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("request", lambda request: _note_request(request.url, problems))
        page.goto(path.as_uri())
        if page.locator(".vega").count():
            page.wait_for_selector("html[data-drawn=yes]", state="attached")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert problems == []


def _note_request(url, problems):
    if not url.startswith(("file:", "data:", "blob:")):
        problems.append(f"request: {url}")
