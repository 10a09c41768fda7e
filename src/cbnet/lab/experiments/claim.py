"""Claims: what do the papers say, and does it hold here?

The statements of the papers stand in `claims.toml`, in our words. What an experiment finds about one of them is a
`Finding`: our number, a verdict and, wherever the verdict is not "holds", the reason. Findings are computed from the
experiment's tables and never written by hand. A run that is too small to tell leaves a claim open.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["holds", "differs", "fails", "open"]

# As people read them.
VERDICTS: Mapping[Verdict, str] = {
    "holds": "holds",
    "differs": "holds with a difference",
    "fails": "does not hold",
    "open": "not recomputable here",
}


@dataclass(frozen=True)
class Claim:
    """A statement of a paper that can be checked."""

    number: int
    paper: str  # its year
    section: str
    says: str
    value: str
    how: str


@dataclass(frozen=True)
class Finding:
    """What an experiment finds about a claim; whatever does not simply hold has a reason."""

    claim: int
    ours: str
    verdict: Verdict
    reason: str = ""

    def __post_init__(self) -> None:
        if self.verdict != "holds" and not self.reason:
            raise ValueError(f"the verdict {self.verdict!r} on claim {self.claim} needs a reason")


@cache
def claims() -> Mapping[int, Claim]:
    """Return all claims by number."""
    text = files("cbnet.lab.experiments").joinpath("claims.toml").read_text(encoding="utf-8")
    found = [Claim(**row) for row in tomllib.loads(text)["claims"]]
    return {claim.number: claim for claim in found}
