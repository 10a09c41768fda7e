"""The pages of a reproduction, in Markdown, with charts as SVG.

FOLDER/README.md                         facts of the run, verdicts by paper, a table of all claims
2014.md                           the experiments of a paper: claims, tables, charts, choices, parameters
2014-figure-4/curves.svg, .csv    a chart, and its numbers
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbnet.files import unwritable
from cbnet_lab.experiments.claim import VERDICTS, Finding, Verdict, claims, finding_by_tests
from cbnet_lab.experiments.reproduce import ExperimentOutcome
from cbnet_lab.report.chart import csv, svg

if TYPE_CHECKING:
    from cbnet_lab.experiments.experiment import Experiment

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


def run_facts(outcomes: Sequence[ExperimentOutcome]) -> dict[str, str]:
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


def _heading(experiment: Experiment) -> str:
    """Return the title, prefixed with its figures or table, or otherwise with its sections of the paper."""
    section = experiment.section
    start = max(section.find("Figure"), section.find("Table"), 0)
    return (
        experiment.title if experiment.title.startswith(section[start:]) else f"{section[start:]}: {experiment.title}"
    )


def _notes(outcome: ExperimentOutcome) -> dict[str, Sequence[str]]:
    """Return collapsed lists, by their summary line."""
    notes: dict[str, Sequence[str]] = {}
    if outcome.experiment.choices:
        notes["Choices where the paper leaves something open"] = outcome.experiment.choices
    if outcome.error is None:
        notes["Parameters and machine"] = [*_parameters(outcome.manifest)]
    return notes


def _parameters(manifest: Mapping[str, Any]) -> Iterator[str]:
    yield f"scale {manifest['scale']}, seed {manifest['seed']}, {manifest['seconds']:,} s, cbnet {manifest['version']}"
    yield ", ".join(f"{name.replace('_', ' ')} {_format(value)}" for name, value in manifest["parameters"].items())
    machine = manifest["machine"]
    yield f"{_machine(machine)}, {machine['system']}, Python {machine['python']}"
    yield "tables: " + ", ".join(f"{name} ({rows:,} rows)" for name, rows in manifest["tables"].items())


def _format(value: Any) -> str:
    if isinstance(value, list):
        return "(" + ", ".join(map(_format, value)) + ")"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def write_pages(outcomes: Sequence[ExperimentOutcome], folder: Path) -> int:
    """Write the pages and the charts of these outcomes to a folder; return the number of pages."""
    shown, findings = _template(), all_findings(outcomes)
    counts = {paper: Counter[str]() for paper in PAPERS}
    for finding in findings:
        counts[claims()[finding.claim].paper][finding.verdict] += 1
    pages = {"README.md": shown.overview(run_facts(outcomes), _summary(findings), counts, findings)}
    for paper, title in PAPERS.items():
        own = [finding for finding in findings if claims()[finding.claim].paper == paper]
        groups = {
            "by_tests": [finding for finding in own if claims()[finding.claim].tests],
            "not_run": [finding for finding in own if finding.missing == "run"],
        }
        pages[f"{paper}.md"] = shown.paper(
            paper, title, groups, [each for each in outcomes if each.experiment.paper == paper]
        )
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


def _template() -> Any:
    """Return the macros of the pages."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cbnet_lab", "experiments"), autoescape=False, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["plain"] = _escaped
    names = {"claims": claims(), "papers": PAPERS, "verdicts": VERDICTS, "heading": _heading, "notes": _notes}
    return environment.get_template("reproduction.md.jinja", globals=names).module


def _escaped(text: str) -> str:
    """Return a plain text, escaped for Markdown."""
    return _SPECIAL.sub(r"\\\1", escape(text, quote=False))
