"""Claims of the papers, rules that decide them, and findings about them.

`claims.toml` states each claim in our words. A `Rule` states when a claim holds, with its threshold, and makes the
findings about it. A `Finding` holds our result, a verdict and, unless the claim simply holds, a reason. Findings are
computed from an experiment's tables, never written by hand.

    holds         the rule is met
    differs       the rule is met, but on other data or under a condition, or the paper's text needs a correction
    fails         the rule is not met: our numbers contradict the claim
    unmeasured    the claim is about a size that this run did not reach; no extrapolation decides it
    open          an input is missing, or the experiment did not run
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["holds", "differs", "fails", "unmeasured", "open"]
Missing: TypeAlias = Literal["run", "topology", "traces"]

VERDICTS: Mapping[Verdict, str] = {
    "holds": "holds",
    "differs": "holds with a difference",
    "fails": "does not hold",
    "unmeasured": "not measured at the paper's size",
    "open": "not decided",
}
_MISSING: Mapping[Missing, str] = {
    "run": "not run",
    "topology": "not run: needs --topology",
    "traces": "not run: needs --traces",
}


@dataclass(frozen=True)
class Claim:
    """A statement of a paper that can be checked."""

    number: int
    paper: str  # its year
    section: str
    statement: str
    value: str
    method: str


@dataclass(frozen=True)
class Finding:
    """The result of an experiment for one claim; every verdict but "holds" has a reason."""

    claim: int
    ours: str
    verdict: Verdict
    reason: str = ""
    missing: Missing | None = None
    """What an open claim lacks: a run or an input."""
    rule: str = ""
    """When the claim holds, with the threshold: the text after “holds if”."""

    def __post_init__(self) -> None:
        if self.verdict != "holds" and not self.reason:
            raise ValueError(f"the verdict {self.verdict!r} on claim {self.claim} needs a reason")
        if self.missing is not None and self.verdict != "open":
            raise ValueError(f"only an open claim can lack something, not claim {self.claim}")

    @property
    def label(self) -> str:
        """The verdict as shown to users."""
        return VERDICTS[self.verdict] if self.missing is None else _MISSING[self.missing]


@dataclass(frozen=True)
class ClaimRule:
    """The condition under which a claim holds; it makes the findings about the claim."""

    claim: int
    text: str
    """The condition with its threshold: “at most 400 ms per message with 8,192,000 filters”."""

    def decide(self, ours: str, holds: bool, reason: str) -> Finding:
        """Return the finding that the rule is met, or that it is not, for this reason."""
        return self.holds(ours) if holds else self.fails(ours, reason)

    def holds(self, ours: str) -> Finding:
        """Return the finding that the rule is met."""
        return Finding(self.claim, ours, "holds", rule=self.text)

    def differs(self, ours: str, reason: str) -> Finding:
        """Return the finding that the rule is met, but not exactly as in the paper."""
        return Finding(self.claim, ours, "differs", reason, rule=self.text)

    def fails(self, ours: str, reason: str) -> Finding:
        """Return the finding that the rule is not met."""
        return Finding(self.claim, ours, "fails", reason, rule=self.text)

    def unmeasured(self, ours: str, reason: str) -> Finding:
        """Return the finding that this run did not reach the size of the paper."""
        return Finding(self.claim, ours, "unmeasured", reason, rule=self.text)

    def open(self, ours: str, reason: str, missing: Missing | None = None) -> Finding:
        """Return the finding that this run cannot decide the claim."""
        return Finding(self.claim, ours, "open", reason, missing, self.text)


@cache
def claims() -> Mapping[int, Claim]:
    """Return all claims by number."""
    text = files("cbnet_lab.experiments").joinpath("claims.toml").read_text(encoding="utf-8")
    return {row["number"]: Claim(**row) for row in tomllib.loads(text)["claims"]}
