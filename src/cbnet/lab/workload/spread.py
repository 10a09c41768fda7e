"""Spread: how many filters does each interface have?

Drawn anew for each interface from a range, as in [2002 §5.1], or dealt from a given number of
filters, as in [2001 §4.1]. Filters are independent of each other, so to deal them at random is to
draw how many each interface gets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.lab.workload.checks import check_at_least, check_sizes

Spread: TypeAlias = Callable[[Generator], NDArray[np.int64]]  # filters of each interface: int64[I]


def drawn(interfaces: int | None, low: int, high: int) -> Spread:
    """Return the spread that draws from [low, high) for each interface."""
    if interfaces is None:
        raise InputError("neither I nor F is given", hint="give one of them, or both")
    check_at_least(1, I=interfaces)
    check_sizes(f"[f_l, f_h) = [{low}, {high})", range(low, high))
    return lambda rng: rng.integers(low, high, size=interfaces)


def dealt(filters: int, interfaces: int | None) -> Spread:
    """Return the spread of exactly `filters`: one for every interface, the rest dealt at random.

    Without a number of interfaces there are as many as filters.
    """
    count = filters if interfaces is None else interfaces
    check_at_least(1, F=filters, I=count)
    if count > filters:
        raise InputError(
            f"I = {count:,} interfaces cannot share F = {filters:,} filters",
            hint="every interface has a filter: let I be at most F",
        )
    return lambda rng: 1 + np.bincount(rng.integers(count, size=filters - count), minlength=count)
