"""Every test that a document names exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = {
    name for file in [*ROOT.glob("tests/**/*.py"), *ROOT.glob("lab/tests/**/*.py")] for name in re.findall(r"^ *(?:async )?def (test_\w+)", file.read_text(), re.M)
}  # fmt: skip
DOCUMENTS = [path for path in sorted(ROOT.glob("docs/**/*.md")) if "`test_" in path.read_text()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_named_tests_exist(document):
    named = set(re.findall(r"`(test_\w+)`", document.read_text()))
    assert named - TESTS == set()
