"""Scaling of decimal weights to integers by a power of ten.

The scale is the smallest power of ten that makes all weights integers, if it is at most 10**15 and their sum then is
less than 2**53, so that distances are exact, as ints and as floats. Computed floats, such as 0.1 + 0.2, seldom allow
it. Then all weights are rounded to the same number of decimal places, as many as those limits permit, and distances are
exact sums of the rounded weights. A weight that would change by more than a millionth of itself is a mistake.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from cbnet.errors import InputError
from cbnet.topology.graph.edges import Edge, Weight

_MAX_DIGITS = 15  # decimal places
_MAX_SUM = 2**53
_MAX_CHANGE = Fraction(1, 10**6)  # of a weight


def integer_weights(edges: Sequence[Edge]) -> tuple[int, list[int]]:
    """Return the scale, and the weight of each edge times the scale."""
    scale = _exact_scale(edges)
    weights = [] if scale is None else [int(edge.weight * scale) for edge in edges]
    if scale is None or sum(weights) >= _MAX_SUM:
        places = _max_places(edges)
        scale, weights = 10**places, [_rounded(edge, places) for edge in edges]
    return scale, weights


def _exact_scale(edges: Sequence[Edge]) -> int | None:
    """Return the smallest power of ten that makes all weights integers; None if there is none, or it is too large."""
    denominators = {edge.weight.denominator for edge in edges}
    scales = (10**places for places in range(_MAX_DIGITS + 1))
    return next((scale for scale in scales if not any(scale % each for each in denominators)), None)


def _max_places(edges: Sequence[Edge]) -> int:
    """Return the number of decimal places with which all weights have an exact sum."""
    total = sum(edge.weight for edge in edges)
    for places in range(_MAX_DIGITS, -1, -1):
        if total * 10**places + len(edges) < _MAX_SUM:  # each may be rounded up
            return places
    largest = max(edges, key=lambda edge: edge.weight)
    problem = f"the weights are too large for exact distances; the largest is {_decimal(largest.weight)}"
    raise InputError(problem, hint="use another unit", line=largest.line)


def _rounded(edge: Edge, places: int) -> int:
    exact = edge.weight * 10**places
    whole: int = round(exact)
    if abs(whole - exact) > exact * _MAX_CHANGE:
        problem = f"the weight {_decimal(edge.weight)} needs more than the {places} decimal places available"
        raise InputError(problem, hint="use weights of similar size, or another unit", line=edge.line)
    return whole


def _decimal(weight: Weight) -> str:
    return f"{Decimal(weight.numerator) / Decimal(weight.denominator):.17g}"
