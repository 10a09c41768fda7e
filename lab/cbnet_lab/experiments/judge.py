"""The judge: it turns the metrics of an experiment into findings about claims.

The checks of a claim are tried in order. The first one that is not met decides the verdict; the reasons of later ones
with the same verdict, and of unmet conditions that claims share, are added to its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from cbnet_lab.experiments.claim import Check, Claim, Finding, Verdict
from cbnet_lab.experiments.curves import Metrics
from cbnet_lab.experiments.templates import MissingValueError, look_up, render

# operator -> test(value, threshold). Of a list of rows, the column of each row has to pass.
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
    """Return the finding about a claim that tests check."""
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
