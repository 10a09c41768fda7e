"""Checks of workload parameters, made before anything is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import TypeAlias

from cbnet.errors import InputError
from cbnet.language.constraint import Op, takes
from cbnet.language.values import ValueType

OperatorShares: TypeAlias = tuple[tuple[Op, float], ...]  # in per cent

_MAX_ZIPF = 10.0  # beyond this, the weights of Zipf's last names vanish in a float


def check_at_least(least: int, **parameters: object) -> None:
    """Check that each parameter is an integer of at least `least`."""
    for name, value in parameters.items():
        if not isinstance(value, Integral) or value < least:
            raise InputError(f"{name} must be an integer of at least {least}, not {value!r}")


def check_sizes(label: str, sizes: range) -> None:
    """Check that a range, named `label` in the error, is not empty."""
    if not sizes:
        raise InputError(f"{label} is an empty range", hint="its start must be below its end")


def check_names(label: str, attributes: range, names: int) -> None:
    """Check that the names of the largest message can be distinct."""
    if attributes[-1] > names:
        raise InputError(
            f"{label} needs {attributes[-1]:,} attributes in a message, but there are only {names:,} names",
            hint="names in a message are distinct: use more names or fewer attributes",
        )


def check_zipf(exponent: float) -> None:
    """Check the exponent of a Zipf distribution; 0 makes it uniform."""
    if not 0 <= exponent <= _MAX_ZIPF:
        raise InputError(f"zipf must be from 0 to {_MAX_ZIPF:g}, not {exponent!r}")


def check_shares(name: str, shares: Sequence[float]) -> None:
    """Check that shares add up to 100 per cent."""
    if min(shares, default=-1) < 0 or not math.isclose(math.fsum(shares), 100):
        raise InputError(f"{name} must add up to 100 per cent, not {', '.join(map(str, shares))}")


def check_operators(name: str, shares: OperatorShares, kind: ValueType) -> None:
    """Check that the operators apply to values of this type."""
    check_shares(name, [share for _, share in shares])
    for op, _ in shares:
        if op is Op.EXISTS or not takes(op, kind):
            raise InputError(
                f"{name}: `{op}` does not compare a {kind}", hint="leave it out and give its share to the others"
            )
