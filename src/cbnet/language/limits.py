"""Limits: how large may a predicate be that someone else has written?"""

from __future__ import annotations

from dataclasses import dataclass

from cbnet.errors import InputError, LimitError


@dataclass(frozen=True)
class Limits:
    """How large a text may be, and its disjunctive normal form."""

    length: int = 1_000_000
    nesting: int = 100
    filters: int = 10_000
    constraints: int = 100_000

    def check_text(self, text: object) -> None:
        """Raise an error unless `text` is a string that is not too long."""
        if not isinstance(text, str):
            raise InputError(f"a predicate must be a string, not {text!r}", hint='write it as text: "x = 1"')
        if len(text) > self.length:
            hint = "split it into several predicates"
            raise LimitError("characters in a predicate", len(text), self.length, hint=hint).at(line=1, column=1)

    def check_size(self, filters: int, constraints: int) -> None:
        """Raise an error if a normal form of this size is too large."""
        for what, count, limit in (
            ("filters in the normal form", filters, self.filters),
            ("constraints in the normal form", constraints, self.constraints),
        ):
            if count > limit:
                raise LimitError(what, count, limit, hint="give the interface several smaller predicates")


DEFAULT_LIMITS = Limits()


def validate_limits(limits: object) -> Limits:
    """Return the limits, or say that they are none."""
    if isinstance(limits, Limits):
        return limits
    raise InputError(f"the limits must be Limits, not {limits!r}", hint="write Limits(filters=50_000)")
