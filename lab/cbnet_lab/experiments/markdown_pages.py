"""Markdown pages of a reproduction, for the documentation site.

    FOLDER/README.md                         facts of the run, verdicts by paper, a table of all claims
           2014.md                           the experiments of a paper: claims, tables, charts, choices, parameters
           2014-figure-4/curves.svg, .csv    a chart, and its numbers

They show what `report.html` shows, and hold no tables of observations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from cbnet.files import unwritable
from cbnet_lab.experiments.claim import VERDICTS, Finding, claims
from cbnet_lab.experiments.page import PAPERS, all_findings, experiment_section, reproduction_page, summary
from cbnet_lab.experiments.reproduce import ExperimentOutcome
from cbnet_lab.report.chart import Chart, csv, svg
from cbnet_lab.report.page import Cell, Grid

EXAMPLES = "Worked examples, checked by tests"
_SPECIAL = re.compile(r"([\\`*_|])")


def write_pages(outcomes: Sequence[ExperimentOutcome], folder: Path) -> int:
    """Write the pages and charts of these outcomes to a folder; return the number of pages."""
    papers = {paper: [each for each in outcomes if each.experiment.paper == paper] for paper in PAPERS}
    pages = {"README.md": _overview(outcomes)} | {f"{paper}.md": _paper(paper, each) for paper, each in papers.items()}
    charts = [(outcome.experiment.name, chart) for outcome in outcomes for chart in outcome.charts]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, lines in pages.items():
            (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        for name, chart in charts:
            _write_chart(folder / name, chart)
    except OSError as error:
        raise unwritable(folder, error) from None
    return len(pages)


def _write_chart(folder: Path, chart: Chart) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{chart.name}.svg").write_text(svg(chart) + "\n", encoding="utf-8")
    (folder / f"{chart.name}.csv").write_text(csv(chart), encoding="utf-8")


def _overview(outcomes: Sequence[ExperimentOutcome]) -> Iterator[str]:
    page = reproduction_page(outcomes)
    findings = all_findings(outcomes)
    yield f"# {page.title}"
    yield ""
    yield summary(findings)
    yield ""
    yield (
        "The page of a paper has its figures with their numbers, and the reason of each verdict other than "
        f"“{VERDICTS['holds']}”. [Reproduce the papers](../how-to/reproduce.md) explains the verdicts."
    )
    yield ""
    yield from _table(["run", ""], [[name, _text(value)] for name, value in (page.facts or {}).items()])
    yield from ("## Papers", "")
    yield from _table(["paper", "claims", *VERDICTS.values()], [_counts(paper, findings) for paper in PAPERS])
    yield from ("## Claims", "")
    yield from _table(
        ["claim", "section", "statement of the paper", "verdict"], [_claim_row(each) for each in findings]
    )


def _counts(paper: str, findings: Sequence[Finding]) -> list[str]:
    counts = Counter(finding.verdict for finding in findings if claims()[finding.claim].paper == paper)
    numbers = [counts.total(), *(counts[verdict] for verdict in VERDICTS)]
    return [f"[{paper}: {PAPERS[paper]}]({paper}.md)", *map(str, numbers)]


def _claim_row(finding: Finding) -> list[str]:
    claim = claims()[finding.claim]
    number = f"[{claim.number}]({claim.paper}.md#claim-{claim.number})"
    return [number, f"{claim.paper} {claim.section}", _text(claim.statement), _verdict(finding)]


def _paper(paper: str, outcomes: Sequence[ExperimentOutcome]) -> Iterator[str]:
    yield f"# [{paper}] {PAPERS[paper]}"
    yield ""
    yield "[All papers](README.md) has the facts of the run."
    yield ""
    findings = [finding for finding in all_findings(outcomes) if claims()[finding.claim].paper == paper]
    yield from _claims(f"{paper}-examples", EXAMPLES, [each for each in findings if claims()[each.claim].tests])
    for outcome in outcomes:
        yield from _experiment(outcome)
    yield from _claims(
        f"{paper}-not-run",
        "Claims without an experiment in this run",
        [finding for finding in findings if finding.missing == "run"],
    )


def _claims(anchor: str, heading: str, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a section of claims, if there are any."""
    if findings:
        yield from (f'<a id="{anchor}"></a>', "", f"## {heading}", "")
        for finding in findings:
            yield from _claim(finding)


def _experiment(outcome: ExperimentOutcome) -> Iterator[str]:
    section = experiment_section(outcome)
    yield f'<a id="{section.anchor}"></a>'
    yield ""
    yield f"## {_text(section.heading)}"
    yield ""
    for paragraph in section.text:
        yield from (_text(paragraph), "")
    for chart in outcome.charts:
        yield from _figure(outcome.experiment.name, chart)
    for grid in section.grids:
        yield from _grid(grid)
    for finding in outcome.findings:
        yield from _claim(finding)
    for name, lines in (section.notes or {}).items():
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        yield from (f"<details><summary>{escape(name)}</summary><ul>{items}</ul></details>", "")


def _figure(folder: str, chart: Chart) -> Iterator[str]:
    path = f"{folder}/{chart.name}"
    yield f"[![{_text(chart.title)}]({path}.svg)]({path}.svg)"  # on a phone, the link shows it larger
    yield ""
    yield " ".join([_text(chart.description), f"[Numbers (CSV)]({path}.csv)"]).strip()
    yield ""


def _claim(finding: Finding) -> Iterator[str]:
    claim = claims()[finding.claim]
    yield f'<a id="claim-{claim.number}"></a>**Claim {claim.number}**, {claim.section}: {_verdict(finding)}'
    yield ""
    yield f"> {_text(claim.statement)}"
    yield ""
    parts = {
        "In the paper": claim.value,
        "Here": finding.ours,
        "Holds if": finding.rule,
        "Reason": finding.reason,
        "Method": claim.method,
    }
    yield from (f"- {name}: {_text(text)}" for name, text in parts.items() if text)
    yield ""


def _verdict(finding: Finding) -> str:
    """Return the verdict; the site colours it by its class."""
    return f'<span class="verdict {finding.verdict}">{escape(finding.label)}</span>'


def _grid(grid: Grid) -> Iterator[str]:
    if grid.caption:
        yield from (f"**{_text(grid.caption)}**", "")
    rows = [[_cell(cell if isinstance(cell, Cell) else Cell(cell)) for cell in row] for row in grid.rows]
    yield from _table(list(map(_text, grid.heads)), rows)


def _cell(cell: Cell) -> str:
    return _text(cell.text) + (f"<br><small>{_text(cell.note)}</small>" if cell.note else "")


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for cells in (heads, ["---"] * len(heads), *rows):
        yield f"| {' | '.join(cells)} |"
    yield ""


def _text(text: str) -> str:
    """Return Markdown that shows a plain text as it is."""
    return _SPECIAL.sub(r"\\\1", escape(text, quote=False))
