import re

import pyarrow as pa
import pytest

from cbnet_lab.experiments.claim import Finding, claims
from cbnet_lab.experiments.experiment import Experiment, Grid
from cbnet_lab.experiments.page import write_pages
from cbnet_lab.experiments.reproduce import ExperimentOutcome
from cbnet_lab.report.chart import Chart

MACHINE = {"processor": "P", "cores": 2, "memory_gb": 8.0, "system": "Linux", "python": "3.11"}
MANIFEST = {
    "scale": "quick", "seed": 0, "seconds": 1.5, "version": "0", "parameters": {"count": 3}, "machine": MACHINE,
    "tables": {"squares": 2},
}  # fmt: skip
TABLE = pa.table({"number": [1, 2], "square": [1, 4], "unused": ["a", "b"]})


@pytest.fixture
def pages(tmp_path):
    """Return the folder of the pages of one experiment about claims 5 and 6."""
    experiment = Experiment("2001-squares", "Squares", "§1", (5, 6), {}, None, choices=("a < b",))
    findings = (Finding(5, "4 of *4* | a_b", "holds"), Finding(6, "5", "fails", "too <many>", rule="at most 4"))
    outcome = ExperimentOutcome(
        experiment,
        MANIFEST,
        findings,
        (Chart("squares", "Squares by number", TABLE, "number", "square", description="They grow."),),
        (Grid("Ours beside theirs", ["x", "y|z"], [["1", "2 <small>"]]),),
    )
    assert write_pages([outcome], tmp_path / "pages") == 6
    return tmp_path / "pages"


def test_overview_lists_every_claim_with_a_link(pages):
    text = (pages / "README.md").read_text()
    linked = re.findall(r"^\| \[(\d+)\]\((\d+)\.md#claim-(\d+)\)", text, re.MULTILINE)
    assert linked == [(str(number), claim.paper, str(number)) for number, claim in claims().items()]
    assert "12 hold, 8 hold with a difference, 2 do not hold" in text
    assert "| Scale | quick: small sizes, not those of the papers |" in text


def test_every_link_has_its_anchor(pages):
    for paper, anchor in re.findall(r"\((\d+\.md)#([\w-]+)\)", (pages / "README.md").read_text()):
        assert f'<a id="{anchor}"></a>' in (pages / paper).read_text()


def test_claim_shows_value_rule_and_reason(pages):
    text = (pages / "2001.md").read_text()
    claim = text[text.index("**Claim 6**") :]
    assert '<span class="verdict fails">does not hold</span>' in claim
    for line in ("- Here: 5", "- Holds if: at most 4", "- Reason: too &lt;many&gt;"):
        assert f"\n{line}\n" in claim


def test_text_is_escaped(pages):
    assert r"- Here: 4 of \*4\* \| a\_b" in (pages / "2001.md").read_text()


def test_chart_is_drawn_with_its_numbers(pages):
    text = (pages / "2001.md").read_text()
    assert "[![Squares by number](2001-squares/squares.svg)](2001-squares/squares.svg)" in text
    assert "They grow. [Numbers (CSV)](2001-squares/squares.csv)" in text
    assert (pages / "2001-squares" / "squares.svg").read_text().startswith("<svg")
    assert (pages / "2001-squares" / "squares.csv").read_text() == '"number","square"\n1,1\n2,4\n'


def test_tables_and_notes_are_shown(pages):
    text = (pages / "2001.md").read_text()
    assert "| x | y\\|z |\n| --- | --- |\n| 1 | 2 &lt;small&gt; |" in text
    assert "<li>a &lt; b</li>" in text


def test_claims_that_did_not_run_are_open(pages):
    text = (pages / "2014.md").read_text()
    _, without = text.split("## Claims without an experiment in this run")
    assert without.count("not run") == 20  # of 23 claims, tests check three


def test_claims_that_tests_check_name_them(pages):
    text = (pages / "2014.md").read_text()
    examples = text[text.index("## Worked examples") : text.index("## Claims without an experiment")]
    assert examples.count("**Claim ") == 3
    name = r"test\_redundant\_descriptors\_of\_an\_interface\_are\_dropped"
    assert f"- Here: checked by test\\_multitree.py::{name}\n" in examples
