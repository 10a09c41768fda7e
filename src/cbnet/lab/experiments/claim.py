"""Claims of the papers, and findings about them.

`claims.toml` states each claim in our words. A `Finding` holds our result, a verdict and, unless the claim simply
holds, a reason. Findings are computed from an experiment's tables, never written by hand. A claim that the run cannot
decide is open, and its finding names what was missing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["holds", "differs", "fails", "open"]
Missing: TypeAlias = Literal["run", "scale", "topology", "traces"]

VERDICTS: Mapping[Verdict, str] = {
    "holds": "holds",
    "differs": "holds with a difference",
    "fails": "does not hold",
    "open": "not decided",
}
_MISSING: Mapping[Missing, str] = {
    "run": "not run",
    "scale": "not decided at this scale",
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
    """What an open claim lacks: a run, a larger scale or an input."""

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
    text = files("cbnet.lab.experiments").joinpath("claims.toml").read_text(encoding="utf-8")
    return {row["number"]: Claim(**row) for row in tomllib.loads(text)["claims"]}
