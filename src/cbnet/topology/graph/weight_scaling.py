"""Scales: by which power of ten do the weights of a graph become whole?

By the smallest that makes all of them whole, if it is at most 10**15 and they then add up to less than 2**53, so that
distances are exact, as ints and as floats. Floats that were computed, such as 0.1 + 0.2, seldom allow it. Then all
weights are rounded to the same number of decimal places, as many as those limits leave, and distances are exact sums
of the rounded weights. A weight that would change by more than a millionth of itself is a mistake.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from cbnet.errors import InputError
from cbnet.topology.graph.edges import Edge, Weight

_MOST_PLACES = 15
_LARGEST_LENGTH = 2**53
_CHANGE = Fraction(1, 10**6)  # of a weight, at most


def integer_weights(edges: Sequence[Edge]) -> tuple[int, list[int]]:
    """Return the scale, and the weight of each edge times the scale."""
    scale = _exact_scale(edges)
    weights = [] if scale is None else [int(edge.weight * scale) for edge in edges]
    if scale is None or sum(weights) >= _LARGEST_LENGTH:
        places = _places_left(edges)
        scale, weights = 10**places, [_rounded(edge, places) for edge in edges]
    return scale, weights


def _exact_scale(edges: Sequence[Edge]) -> int | None:
    """Return the smallest power of ten that makes all weights whole; None if there is none, or it is too large."""
    denominators = {edge.weight.denominator for edge in edges}
    scales = (10**places for places in range(_MOST_PLACES + 1))
    return next((scale for scale in scales if not any(scale % each for each in denominators)), None)


def _places_left(edges: Sequence[Edge]) -> int:
    """Return how many decimal places all weights can have, so that they add up exactly."""
    total = sum(edge.weight for edge in edges)
    for places in range(_MOST_PLACES, -1, -1):
        if total * 10**places + len(edges) < _LARGEST_LENGTH:  # each may be rounded up
            return places
    largest = max(edges, key=lambda edge: edge.weight)
    problem = f"the weights are too large for exact distances; the largest is {_said(largest.weight)}"
    raise InputError(problem, hint="use another unit", line=largest.line)


def _rounded(edge: Edge, places: int) -> int:
    exact = edge.weight * 10**places
    whole: int = round(exact)
    if abs(whole - exact) > exact * _CHANGE:
        problem = f"the weight {_said(edge.weight)} needs more than the {places} decimal places that there is room for"
        raise InputError(problem, hint="use weights of like sizes, or another unit", line=edge.line)
    return whole


def _said(weight: Weight) -> str:
    return f"{Decimal(weight.numerator) / Decimal(weight.denominator):.17g}"
