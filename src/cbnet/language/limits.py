"""Size limits of predicates from untrusted sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cbnet.errors import InputError, LimitError


@dataclass(frozen=True)
class Limits:
    """Limits of a predicate's text and of its disjunctive normal form."""

    length: int = 1_000_000
    nesting: int = 100
    filters: int = 10_000
    constraints: int = 100_000

    def check_text(self, text: object) -> None:
        """Raise an error unless `text` is a string within the limit."""
        if isinstance(text, Mapping):
            raise InputError(
                "a predicate must be a string, not an object", hint='name its dialect, such as "eventbridge"'
            )
        if not isinstance(text, str):
            raise InputError(f"a predicate must be a string, not {text!r}", hint='write it as text: "x = 1"')
        if len(text) > self.length:
            hint = "split it into several predicates"
            raise LimitError("characters in a predicate", len(text), self.length, hint=hint).at(line=1, column=1)

    def check_size(self, filters: int, constraints: int) -> None:
        """Raise an error if a normal form exceeds the limits."""
        for subject, count, limit in (
            ("filters in the normal form", filters, self.filters),
            ("constraints in the normal form", constraints, self.constraints),
        ):
            if count > limit:
                raise LimitError(subject, count, limit, hint="split it into several smaller predicates")


DEFAULT_LIMITS = Limits()
MAX_FILTER_BYTES = 1 << 16  # of the byte form of a filter


def validate_limits(limits: object) -> Limits:
    """Return the limits if they are `Limits`."""
    if isinstance(limits, Limits):
        return limits
    raise InputError(f"the limits must be Limits, not {limits!r}", hint="write Limits(filters=50_000)")
