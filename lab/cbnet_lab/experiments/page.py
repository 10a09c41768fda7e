"""The pages of a reproduction: one page of HTML, or Markdown pages for the documentation site.

The page has facts of the run, a table of all claims, then the figures of each paper. Each claim is in the table once,
with its verdict and its rule. A figure has links to its claims. The Markdown pages show the same:

    FOLDER/README.md                         facts of the run, verdicts by paper, a table of all claims
           2014.md                           the experiments of a paper: claims, tables, charts, choices, parameters
           2014-figure-4/curves.svg, .csv    a chart, and its numbers
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from cbnet.files import unwritable
from cbnet_lab.experiments.claim import VERDICTS, Claim, Finding, Verdict, claims, finding_by_tests
from cbnet_lab.experiments.reproduce import ExperimentOutcome
from cbnet_lab.report.chart import csv, svg
from cbnet_lab.report.page import Cell, Grid, Page, Section, template

PAPERS = {
    "2001": "Fast Forwarding for Content-Based Networking, November 2001",
    "2002": "Fast Forwarding for Content-Based Networking, revised September 2002",
    "2003": "Forwarding in a Content-Based Network, 2003",
    "2006": "Understanding Content-Based Routing Schemes, 2006",
    "2014": "Routing for Tag-Based Information-Centric Networking, 2014",
}
_SCALES = {
    "quick": "quick: small sizes, not those of the papers",
    "full": "full: the papers' sizes where two cores take minutes",
    "paper": "paper: the papers' own ranges",
}
_SPECIAL = re.compile(r"([\\`*_|])")
_PLURAL: Mapping[Verdict, str] = {
    "holds": "hold",
    "differs": "hold with a difference",
    "fails": "do not hold",
    "unmeasured": "are not measured at the paper's size",
    "open": "are not decided",
}


def all_findings(outcomes: Sequence[ExperimentOutcome]) -> list[Finding]:
    """Return a finding for each claim of the papers; claims whose experiment did not run are open."""
    findings = {number: finding_by_tests(claim) for number, claim in claims().items() if claim.tests}
    findings |= {finding.claim: finding for outcome in outcomes for finding in outcome.findings}
    not_run = "its experiment was not part of this run"
    return [findings.get(number, Finding(number, "-", "open", not_run, missing="run")) for number in claims()]


def _summary(findings: Sequence[Finding]) -> str:
    """Return a summary: the number of claims with each verdict."""
    counts = Counter(finding.verdict for finding in findings)
    verdicts = ", ".join(f"{counts[verdict]} {_PLURAL[verdict]}" for verdict in VERDICTS)
    return (
        "The figures, tables and worked examples of five papers on content-based networking, reproduced. Of "
        f"{len(findings)} claims, {verdicts}."
    )


def reproduction_page(outcomes: Sequence[ExperimentOutcome]) -> Page:
    """Return the report page of these outcomes."""
    findings = all_findings(outcomes)
    text = (
        f"{_summary(findings)} Verdicts are computed from the results of the run; every verdict other than "
        f"“{VERDICTS['holds']}” has its reason below it.",
    )
    sections = [_claims(findings, outcomes)]
    for paper, title in PAPERS.items():
        own = [_experiment_section(each) for each in outcomes if each.experiment.paper == paper]
        sections += [Section(f"[{paper}] {title}", f"paper-{paper}", sections=own)] if own else []
    return Page("The papers, reproduced", text, sections, _facts(outcomes))


def _facts(outcomes: Sequence[ExperimentOutcome]) -> dict[str, str]:
    """Return the scale, data, date, machine and code of a run; for several runs, all values that occur."""
    manifests = [outcome.manifest for outcome in outcomes if outcome.error is None]
    return {
        "Scale": _joined(_SCALES[each["scale"]] for each in manifests),
        "Internet graph": _joined(_file(each, "topology", "generated") for each in manifests),
        "User traces": _joined(_file(each, "traces", "none: models of users") for each in manifests),
        "Date": _joined(each.get("date", "") for each in manifests),
        "Machine": _joined(_machine(each["machine"]) for each in manifests),
        "Code": _joined(" ".join(filter(None, (f"cbnet {each['version']}", each.get("commit")))) for each in manifests),
    }


def _joined(texts: Iterable[str]) -> str:
    """Return the distinct texts, joined in order of first appearance."""
    return "; ".join(dict.fromkeys(text for text in texts if text)) or "unknown"


def _file(manifest: Mapping[str, Any], name: str, without: str) -> str:
    """Return the name of an input file; empty if the experiment has no such input."""
    files = manifest.get("files", {})
    return (files[name] or without) if name in files else ""


def _machine(machine: Mapping[str, Any]) -> str:
    return f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gb']} GB"


def _claims(findings: Sequence[Finding], outcomes: Sequence[ExperimentOutcome]) -> Section:
    experiments = {number: each.experiment.name for each in outcomes for number in each.experiment.claims}
    heads = ("claim", "section", "statement of the paper", "paper", "ours", "verdict")
    rows = [_claim_row(claims()[each.claim], each, experiments.get(each.claim, "")) for each in findings]
    caption = "Claims of the papers, with their values and ours"
    order = [*VERDICTS.values(), *sorted({finding.label for finding in findings} - {*VERDICTS.values()})]
    labels = [label for label in order if any(finding.label == label for finding in findings)]
    grid = Grid(caption, heads, rows, filter_by=5, filters=labels, rows_are="claims")
    return Section("All claims", "claims", grids=[grid])


def _claim_row(claim: Claim, finding: Finding, experiment: str) -> list[Cell | str]:
    return [
        Cell(str(claim.number), link=experiment, anchor=f"claim-{claim.number}"),
        f"[{claim.paper} {claim.section}]",
        Cell(claim.statement, note=f"Ours: {claim.method}."),
        claim.value,
        Cell(finding.ours, note=f"Holds if: {finding.rule}." if finding.rule else ""),
        Cell(finding.label, mark=finding.verdict, note=finding.reason),
    ]


def _experiment_section(outcome: ExperimentOutcome) -> Section:
    """Return the section of an experiment, with links to its claims."""
    experiment = outcome.experiment
    text = [f"[{experiment.paper} {experiment.section}] — {experiment.name}"]
    if outcome.error is not None:
        text.append(f"This experiment could not run: {outcome.error}")
    return Section(
        _heading(experiment.title, experiment.section),
        experiment.name,
        text,
        list(outcome.grids),
        # Charts of two experiments may have the same name.
        [replace(chart, name=f"chart-{experiment.name}-{chart.name}") for chart in outcome.charts],
        dict(_notes(outcome)),
        links=[
            Cell(f"{finding.claim} {finding.label}", finding.verdict, f"claim-{finding.claim}")
            for finding in outcome.findings
        ],
    )


def _heading(title: str, section: str) -> str:
    """Return the title, prefixed with its figures or table, or otherwise with its sections of the paper."""
    start = max(section.find("Figure"), section.find("Table"), 0)
    return title if title.startswith(section[start:]) else f"{section[start:]}: {title}"


def _notes(outcome: ExperimentOutcome) -> Iterator[tuple[str, Sequence[str]]]:
    if outcome.experiment.choices:
        yield "Choices where the paper leaves something open", outcome.experiment.choices
    if outcome.error is None:
        yield "Parameters and machine", list(_run_facts(outcome.manifest))


def _run_facts(manifest: Mapping[str, Any]) -> Iterator[str]:
    yield f"scale {manifest['scale']}, seed {manifest['seed']}, {manifest['seconds']:,} s, cbnet {manifest['version']}"
    yield ", ".join(f"{name.replace('_', ' ')} {_format(value)}" for name, value in manifest["parameters"].items())
    machine = manifest["machine"]
    yield f"{_machine(machine)}, {machine['system']}, Python {machine['python']}"
    yield "tables: " + ", ".join(f"{name} ({rows:,} rows)" for name, rows in manifest["tables"].items())


def _format(value: Any) -> str:
    if isinstance(value, list):
        return "(" + ", ".join(map(_format, value)) + ")"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def write_markdown(outcomes: Sequence[ExperimentOutcome], folder: Path) -> int:
    """Write the Markdown pages and the charts of these outcomes to a folder; return the number of pages."""
    names = {"claims": claims(), "papers": PAPERS, "verdicts": VERDICTS}
    shown: Any = template("experiments/reproduction.md.jinja", {"plain": _escaped}, **names).module
    findings = all_findings(outcomes)
    counts = {paper: Counter[str]() for paper in PAPERS}
    for finding in findings:
        counts[claims()[finding.claim].paper][finding.verdict] += 1
    pages = {"README.md": shown.overview(reproduction_page(outcomes), _summary(findings), counts, findings)}
    for paper, title in PAPERS.items():
        own = [finding for finding in findings if claims()[finding.claim].paper == paper]
        groups = {
            "by_tests": [finding for finding in own if claims()[finding.claim].tests],
            "not_run": [finding for finding in own if finding.missing == "run"],
        }
        sections = [(each, _experiment_section(each)) for each in outcomes if each.experiment.paper == paper]
        pages[f"{paper}.md"] = shown.paper(paper, title, groups, sections)
    charts = [(outcome.experiment.name, chart) for outcome in outcomes for chart in outcome.charts]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (folder / name).write_text(str(text), encoding="utf-8")
        for name, chart in charts:
            (folder / name).mkdir(exist_ok=True)
            (folder / name / f"{chart.name}.svg").write_text(svg(chart) + "\n", encoding="utf-8")
            (folder / name / f"{chart.name}.csv").write_text(csv(chart), encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error) from None
    return len(pages)


def _escaped(text: str) -> str:
    """Return a plain text, escaped for Markdown."""
    return _SPECIAL.sub(r"\\\1", escape(text, quote=False))
