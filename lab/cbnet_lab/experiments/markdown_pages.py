"""Markdown pages of a reproduction, for the documentation site.

    FOLDER/README.md                         facts of the run, verdicts by paper, a table of all claims
           2014.md                           the experiments of a paper: claims, tables, charts, choices, parameters
           2014-figure-4/curves.svg, .csv    a chart, and its numbers

They show what `report.html` shows, and hold no tables of observations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from cbnet.files import unwritable
from cbnet_lab.experiments.claim import VERDICTS, claims
from cbnet_lab.experiments.page import PAPERS, all_findings, experiment_section, reproduction_page, summary
from cbnet_lab.experiments.reproduce import ExperimentOutcome
from cbnet_lab.report.chart import Chart, csv, svg
from cbnet_lab.report.page import template

_SPECIAL = re.compile(r"([\\`*_|])")


def write_pages(outcomes: Sequence[ExperimentOutcome], folder: Path) -> int:
    """Write the pages and charts of these outcomes to a folder; return the number of pages."""
    names = {"claims": claims(), "papers": PAPERS, "verdicts": VERDICTS}
    shown: Any = template("experiments/reproduction.md.jinja", {"plain": _plain}, **names).module
    findings = all_findings(outcomes)
    counts = {paper: Counter[str]() for paper in PAPERS}
    for finding in findings:
        counts[claims()[finding.claim].paper][finding.verdict] += 1
    pages = {"README.md": shown.overview(reproduction_page(outcomes), summary(findings), counts, findings)}
    for paper, title in PAPERS.items():
        own = [finding for finding in findings if claims()[finding.claim].paper == paper]
        groups = {
            "by_tests": [finding for finding in own if claims()[finding.claim].tests],
            "not_run": [finding for finding in own if finding.missing == "run"],
        }
        sections = [(each, experiment_section(each)) for each in outcomes if each.experiment.paper == paper]
        pages[f"{paper}.md"] = shown.paper(paper, title, groups, sections)
    charts = [(outcome.experiment.name, chart) for outcome in outcomes for chart in outcome.charts]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (folder / name).write_text(str(text), encoding="utf-8")
        for name, chart in charts:
            _write_chart(folder / name, chart)
    except OSError as error:
        raise unwritable(folder, error) from None
    return len(pages)


def _write_chart(folder: Path, chart: Chart) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{chart.name}.svg").write_text(svg(chart) + "\n", encoding="utf-8")
    (folder / f"{chart.name}.csv").write_text(csv(chart), encoding="utf-8")


def _plain(text: str) -> str:
    """Return Markdown that shows a plain text as it is."""
    return _SPECIAL.sub(r"\\\1", escape(text, quote=False))
