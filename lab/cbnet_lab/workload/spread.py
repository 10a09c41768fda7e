"""The number of filters of each interface.

Either drawn from a range for each interface, as in [2002 §5.1], or a fixed total dealt at random to
the interfaces, as in [2001 §4.1]. Filters are independent of each other, so only the numbers are dealt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet_lab.workload.checks import check_at_least, check_sizes

Spread: TypeAlias = Callable[[Generator], NDArray[np.int64]]  # filters of each interface: int64[I]


def random_spread(interfaces: int | None, low: int, high: int) -> Spread:
    """Return the spread that draws from [low, high) for each interface."""
    if interfaces is None:
        raise InputError("both I and F are missing", hint="set one of them, or both")
    check_at_least(1, I=interfaces)
    check_sizes(f"[f_l, f_h) = [{low}, {high})", range(low, high))
    return lambda rng: rng.integers(low, high, size=interfaces)


def fixed_spread(filters: int, interfaces: int | None) -> Spread:
    """Return a spread of exactly `filters`: one for every interface, the rest dealt at random.

    If `interfaces` is None there are as many interfaces as filters.
    """
    count = filters if interfaces is None else interfaces
    check_at_least(1, F=filters, I=count)
    if count > filters:
        raise InputError(
            f"I = {count:,} interfaces cannot share F = {filters:,} filters",
            hint="every interface needs a filter: I must be at most F",
        )
    return lambda rng: 1 + np.bincount(rng.integers(count, size=filters - count), minlength=count)
