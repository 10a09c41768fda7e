"""Checks: which parameters make sense? All are made before anything is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import TypeAlias

from cbnet.errors import InputError
from cbnet.language.constraint import Op, takes
from cbnet.language.values import ValueType

OperatorShares: TypeAlias = tuple[tuple[Op, float], ...]  # in per cent

_STEEPEST = 10.0  # beyond, the weights of Zipf's last names vanish in a float


def check_at_least(least: int, **parameters: object) -> None:
    """Check that each of the parameters is a whole number, and not too small."""
    for name, value in parameters.items():
        if not isinstance(value, Integral) or value < least:
            raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}")


def check_sizes(said: str, sizes: range) -> None:
    """Check that the range, given as `said`, holds a number."""
    if not sizes:
        raise InputError(f"{said} is an empty range", hint="let it begin below its end")


def check_names(said: str, attributes: range, names: int) -> None:
    """Check that the names of the largest message can be distinct."""
    if attributes[-1] > names:
        raise InputError(
            f"{said} asks for {attributes[-1]:,} attributes in a message, but there are {names:,} names",
            hint="a message has an attribute once: use more names or fewer attributes",
        )


def check_zipf(exponent: float) -> None:
    """Check the exponent of a Zipf distribution; 0 makes it uniform."""
    if not 0 <= exponent <= _STEEPEST:
        raise InputError(f"zipf must be from 0 to {_STEEPEST:g}, not {exponent!r}")


def check_shares(name: str, shares: Sequence[float]) -> None:
    """Check that shares are a hundred per cent together."""
    if min(shares, default=-1) < 0 or not math.isclose(math.fsum(shares), 100):
        raise InputError(f"{name} must be shares of 100 per cent, not {', '.join(map(str, shares))}")


def check_operators(name: str, shares: OperatorShares, kind: ValueType) -> None:
    """Check that constraints on values of this kind may have these operators."""
    check_shares(name, [share for _, share in shares])
    for op, _ in shares:
        if op is Op.EXISTS or not takes(op, kind):
            raise InputError(
                f"{name}: `{op}` does not compare a {kind}", hint="leave it out, and share among the others"
            )
