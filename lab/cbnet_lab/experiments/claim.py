"""Claims of the papers, and findings about them.

`claims.toml` states each claim in our words, and its checks as metric, operator and threshold. A claim about a worked
example names the tests that check it instead. A `Finding` holds our result, a verdict and, unless the claim simply
holds, a reason.

    holds         all checks are met
    differs       they are met, but on other data or under a condition, or the paper's text needs a correction
    fails         a check is not met: our numbers contradict the claim
    unmeasured    the claim is about a size that this run did not reach; no extrapolation decides it
    open          an input is missing, or the experiment did not run

Checks are tried in order. The first one that is not met decides the verdict; the reasons of later ones with the same
verdict, and of unmet conditions that claims share, are added to its reason.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias, cast

from cbnet_lab.experiments.curves import Metrics
from cbnet_lab.experiments.templates import MissingValueError, look_up, render

Verdict: TypeAlias = Literal["holds", "differs", "fails", "unmeasured", "open"]
Missing: TypeAlias = Literal["run", "traces"]

VERDICTS: Mapping[Verdict, str] = {
    "holds": "holds",
    "differs": "holds with a difference",
    "fails": "does not hold",
    "unmeasured": "not measured at the paper's size",
    "open": "not decided",
}
_MISSING: Mapping[Missing, str] = {"run": "not run", "traces": "not run: needs --traces"}
# operator -> test(value, threshold). For a list of rows, the column of every row must pass.
OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": lambda value, threshold: value == threshold,
    "<": lambda value, threshold: value < threshold,
    "<=": lambda value, threshold: value <= threshold,
    ">": lambda value, threshold: value > threshold,
    ">=": lambda value, threshold: value >= threshold,
    "between": lambda value, ends: ends[0] <= value <= ends[1],
    "±": lambda value, about: abs(value - about[0]) <= about[1],
    "±%": lambda value, about: abs(value - about[0]) <= about[1] * about[0],
}
_NEEDS_TRACES = "needs traces"


@dataclass(frozen=True)
class Check:
    """A condition on a metric, and the verdict and reason if it is not met."""

    metric: str
    operator: str
    threshold: Any
    otherwise: str  # a verdict, or “needs traces”
    reason: str
    is_shared: bool = False  # whether it is one of the conditions that several claims share

    @property
    def limits(self) -> Any:
        """The threshold; for a range or a tolerance, its parts by name."""
        if self.operator not in ("between", "±", "±%"):
            return self.threshold
        first, second = self.threshold
        if self.operator == "between":
            return {"low": first, "high": second}
        by = second * first if self.operator == "±%" else second
        return {"about": first, "by": second, "low": first - by, "high": first + by}


@dataclass(frozen=True)
class Claim:
    """A statement of a paper that can be checked."""

    number: int
    paper: str  # its year
    section: str
    statement: str
    value: str
    method: str
    holds_if: str  # the condition under which it holds; fields in braces are the thresholds of the checks
    experiment: str = ""
    ours: str = ""  # the template of our result; fields in braces are metrics
    checks: tuple[Check, ...] = ()
    difference: str = ""  # why it holds with a difference, even if all checks are met
    undecidable: str = ""  # why no metric can decide it
    tests: tuple[str, ...] = ()  # the tests of the repository that check it, if no experiment does
    verdict: Verdict = "holds"  # the verdict that these tests establish

    @property
    def rule(self) -> str:
        """The condition under which it holds, with its thresholds."""
        return render(self.holds_if, {check.metric.replace(".", "_"): check.limits for check in self.checks})


@dataclass(frozen=True)
class Finding:
    """The result for one claim; every verdict but "holds" has a reason."""

    claim: int
    ours: str
    verdict: Verdict
    reason: str = ""
    missing: Missing | None = None  # what an open claim lacks: a run or an input
    rule: str = ""  # when the claim holds, with the threshold: the text after “holds if”

    def __post_init__(self) -> None:
        if self.verdict != "holds" and not self.reason:
            raise ValueError(f"the verdict {self.verdict!r} on claim {self.claim} needs a reason")
        if self.missing is not None and self.verdict != "open":
            raise ValueError(f"only an open claim can lack something, not claim {self.claim}")

    @property
    def label(self) -> str:
        """The verdict as shown to users."""
        return VERDICTS[self.verdict] if self.missing is None else _MISSING[self.missing]


@cache
def claims() -> Mapping[int, Claim]:
    """Return all claims by number."""
    data = tomllib.loads(files("cbnet_lab.experiments").joinpath("claims.toml").read_text(encoding="utf-8"))
    shared = {name: replace(Check(*row), is_shared=True) for name, row in data["conditions"].items()}
    return {row["number"]: _claim(row, shared) for row in data["claims"]}


def _claim(row: dict[str, Any], shared: Mapping[str, Check]) -> Claim:
    checks = (shared[each] if isinstance(each, str) else Check(*each) for each in row.pop("checks", ()))
    return Claim(**row | {"checks": tuple(checks), "tests": tuple(row.pop("tests", ()))})


def judge(claim: Claim, metrics: Metrics) -> Finding:
    """Return the finding about a claim."""
    try:
        ours = render(claim.ours, metrics)
    except MissingValueError:
        ours = "none"
    unmet = [(check, rows) for check in claim.checks if (rows := _unmet(check, metrics)) is not None]
    if not unmet:
        if claim.undecidable:
            return Finding(claim.number, ours, "open", claim.undecidable, rule=claim.rule)
        if claim.difference:
            return Finding(claim.number, ours, "differs", claim.difference, rule=claim.rule)
        return Finding(claim.number, ours, "holds", rule=claim.rule)
    decisive = unmet[0][0].otherwise
    reasons = [
        render(check.reason, {**metrics, "unmet": rows}, missing="none")
        for check, rows in unmet
        if check.otherwise == decisive or check.is_shared
    ]
    if decisive == "differs" and claim.difference:
        reasons.insert(0, claim.difference)
    reason = "; ".join(dict.fromkeys(reasons))
    if decisive == _NEEDS_TRACES:
        return Finding(claim.number, "-", "open", reason, "traces", claim.rule)
    return Finding(claim.number, ours, cast(Verdict, decisive), reason, rule=claim.rule)


def finding_by_tests(claim: Claim) -> Finding:
    """Return the finding about a claim that is checked by tests."""
    ours = f"checked by {', '.join(claim.tests)}"
    return Finding(claim.number, ours, claim.verdict, claim.difference, rule=claim.rule)


def _unmet(check: Check, metrics: Metrics) -> list[Any] | None:
    """Return the rows that do not pass a check, none for a single value; None if the check is met."""
    passes = OPERATORS[check.operator]
    name, _, column = check.metric.partition(".")
    if column and isinstance(metrics[name], list):
        rows = [row for row in metrics[name] if row[column] is None or not passes(row[column], check.threshold)]
        return rows or None
    value = look_up(check.metric, metrics)
    return None if value is not None and passes(value, check.threshold) else []
