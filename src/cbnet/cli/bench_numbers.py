"""Bench numbers: how are measurements written, and compared?"""

from __future__ import annotations


def over(one: float | None, other: float | None) -> float | None:
    """Return one measurement over another; None where one of them is not there."""
    return None if one is None or not other else one / other


def number(value: float | None) -> str:
    """Return a number with the digits that mean something."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
