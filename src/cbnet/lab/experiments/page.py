"""The page of a reproduction: all claims of the papers in one table, then what was run for each paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cbnet.lab.experiments.claim import VERDICTS, Claim, Finding, Verdict, claims
from cbnet.lab.experiments.reproduce import Outcome
from cbnet.lab.report.page import Cell, Grid, Page, Section

PAPERS = {
    "2001": "Fast Forwarding for Content-Based Networking, November 2001",
    "2002": "Fast Forwarding for Content-Based Networking, revised September 2002",
    "2003": "Forwarding in a Content-Based Network, 2003",
    "2006": "Understanding Content-Based Routing Schemes, 2006",
    "2014": "Routing for Tag-Based Information-Centric Networking, 2014",
}
_COUNTED: Mapping[Verdict, str] = {
    "holds": "hold",
    "differs": "hold with a difference",
    "fails": "do not hold",
    "open": "cannot be told here",
}
_NOT_RUN = "its experiment was not run"


def findings_of_all(outcomes: Sequence[Outcome]) -> list[Finding]:
    """Return a finding for each claim of the papers; what was not run is open."""
    found = {finding.claim: finding for outcome in outcomes for finding in outcome.findings}
    return [found.get(number, Finding(number, "-", "open", _NOT_RUN)) for number in claims()]


def reproduction_page(outcomes: Sequence[Outcome]) -> Page:
    """Return the page about what was run."""
    findings = findings_of_all(outcomes)
    counts = Counter(finding.verdict for finding in findings)
    told = ", ".join(f"{counts[verdict]} {_COUNTED[verdict]}" for verdict in VERDICTS)
    text = (
        f"The figures, tables and worked examples of five papers on content-based networking, computed anew. Of "
        f"{len(findings)} statements that can be checked, {told}. A verdict is computed from the numbers of the run; "
        f"where it is not “{VERDICTS['holds']}”, the reason stands below it.",
    )
    papers = [paper for paper in PAPERS if any(outcome.experiment.paper == paper for outcome in outcomes)]
    sections = [_paper(paper, [each for each in outcomes if each.experiment.paper == paper]) for paper in papers]
    return Page("The papers, reproduced", text, [_claims(findings, outcomes), *sections])


def _claims(findings: Sequence[Finding], outcomes: Sequence[Outcome]) -> Section:
    experiments = {number: each.experiment.name for each in outcomes for number in each.experiment.claims}
    heads = ("claim", "where", "the paper says", "paper", "ours", "verdict")
    rows = [_claim_row(claims()[each.claim], each, experiments.get(each.claim, "")) for each in findings]
    caption = "What each paper says, its number and ours"
    grid = Grid(caption, heads, rows, filter_by=5, filters=list(VERDICTS.values()), rows_are="claims")
    return Section("All claims", "claims", grids=[grid])


def _claim_row(claim: Claim, finding: Finding, experiment: str) -> list[Cell | str]:
    return [
        Cell(str(claim.number), link=experiment),
        f"[{claim.paper} {claim.section}]",
        Cell(claim.says, note=f"Ours: {claim.how}."),
        claim.value,
        finding.ours,
        Cell(VERDICTS[finding.verdict], mark=finding.verdict, note=finding.reason),
    ]


def _paper(paper: str, outcomes: Sequence[Outcome]) -> Section:
    return Section(f"[{paper}] {PAPERS[paper]}", f"paper-{paper}", sections=[_experiment(each) for each in outcomes])


def _experiment(outcome: Outcome) -> Section:
    experiment = outcome.experiment
    text = [f"[{experiment.paper} {experiment.section}] — {experiment.name}"]
    if outcome.error is not None:
        text.append(f"This could not be run: {outcome.error}")
    rows: list[list[Cell | str]] = [
        [
            Cell(str(finding.claim), link="claims"),
            claims()[finding.claim].says,
            claims()[finding.claim].value,
            finding.ours,
            Cell(VERDICTS[finding.verdict], mark=finding.verdict, note=finding.reason),
        ]
        for finding in outcome.findings
    ]
    heads = ("claim", "the paper says", "paper", "ours", "verdict")
    return Section(
        experiment.title,
        experiment.name,
        text,
        [Grid(f"Claims of {experiment.name}", heads, rows)] if rows else [],
        # Charts of two experiments may have the same name.
        [replace(chart, name=f"chart-{experiment.name}-{chart.name}") for chart in outcome.charts],
        dict(_notes(outcome)),
    )


def _notes(outcome: Outcome) -> Iterator[tuple[str, Sequence[str]]]:
    if outcome.experiment.choices:
        yield "What the paper leaves open, and our choice", outcome.experiment.choices
    if outcome.error is None:
        yield "Parameters and machine", list(_about(outcome.about))


def _about(about: Mapping[str, Any]) -> Iterator[str]:
    yield f"scale {about['scale']}, seed {about['seed']}, {about['seconds']:,} s, cbnet {about['version']}"
    yield ", ".join(f"{name.replace('_', ' ')} {_told(value)}" for name, value in about["parameters"].items())
    machine = about["machine"]
    yield (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}"
    )
    yield "tables: " + ", ".join(f"{name} ({rows:,} rows)" for name, rows in about["tables"].items())


def _told(value: Any) -> str:
    if isinstance(value, list):
        return "(" + ", ".join(map(_told, value)) + ")"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
