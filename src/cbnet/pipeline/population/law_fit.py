"""The law of tags, fitted by users to one or several traces.

| parameter                 | fitted to                                                                               |
|---------------------------|-----------------------------------------------------------------------------------------|
| discount, concentration   | different tags of a user, over the tags that the user assigned                          |
| growth, head              | different tags of growing numbers of users                                              |
| cohesion                  | sets with a tag that their user has nowhere else: how many have another tag too         |

Traces share all parameters but the head: it is the size of the vocabulary of a subject, and that of music is smaller
than that of the news. The formulas behind the first two rows ignore that tags of a set differ and belong together, so
each round generates users like those of the traces, and corrects the formulas by the difference.

Not fitted, and so a test of the fit: the share of sets that are minimal within their user, and among all.

The fit is compared with the trace at the trace's size: users are generated with the numbers of sets and the shares of
one-tag sets of its users; only the tags are the model's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbnet.matching.minimal_sets import Numbers, first_equal, minimal
from cbnet.pipeline.population.user_model import NO_LIMIT, Activity, Floats, TagLaw, UserModel, like_trace
from cbnet.pipeline.population.user_trace import UserTrace, minimal_of_groups

_ROUNDS = 8
_GROWTH, _LOG_HEAD = (0.05, 0.95), (-3.0, 14.0)  # ranges of the parameters
_DISCOUNT, _LOG_CONCENTRATION = (0.02, 0.98), (-4.0, 7.0)
_GOLDEN, _SECTIONS = (5**0.5 - 1) / 2, 22  # to 2 in 100,000 of the range
_MAX_CORRECTION = 3.0  # an exhausted vocabulary carries no information on the number of draws
_QUANTILES = 21
_MIN_SETS = 5  # of a user whose share of one-tag sets counts: that of a single set is 0 or 1
_AT_LIMIT, _MIN_LIMIT = 0.01, 10  # share of users with the largest number of tags, which then is a limit


def fit_activity(trace: UserTrace) -> Activity:
    """Return the activity of the users of a trace."""
    counts, sizes = trace.set_counts, trace.sets.sizes
    shares = trace.one_tag[counts >= min(_MIN_SETS, counts.max())]
    several = np.bincount(sizes[sizes > 1], minlength=3)[2:]
    most = int(trace.tag_counts.max())
    is_limited = most >= _MIN_LIMIT and (trace.tag_counts == most).mean() >= _AT_LIMIT
    return Activity(
        float(np.log(counts).std()),
        np.quantile(shares, np.linspace(0, 1, _QUANTILES)),
        np.cumsum(several) / max(1, several.sum()),
        most if is_limited else NO_LIMIT,
    )


def fit_models(traces: Sequence[UserTrace], *, seed: int = 0) -> list[UserModel]:
    """Fit a model to each trace; their laws differ in the head only."""
    activities = [fit_activity(trace) for trace in traces]
    users = [_UserBins(trace, activity.limit) for trace, activity in zip(traces, activities, strict=True)]
    draws: list[Floats] = [trace.curve.pairs.astype(np.float64) for trace in traces]
    low, high = 0.0, 1.0
    models: list[UserModel] = []
    for number in range(_ROUNDS):
        cohesion = (low + high) / 2
        discount, concentration = _fit_user_law(users)
        growth, heads = _fit_common_law(draws, [trace.curve.tags.astype(np.float64) for trace in traces])
        law = TagLaw(growth, 1.0, discount, concentration, cohesion)
        models = [
            UserModel(replace(law, head=head), activity, np.zeros(0, dtype=np.int32))
            for head, activity in zip(heads, activities, strict=True)
        ]
        made = [like_trace(model, trace, seed + number) for model, trace in zip(models, traces, strict=True)]
        for index, (ours, trace) in enumerate(zip(made, traces, strict=True)):
            users[index].correct(ours, models[index].law)
            draws[index] = trace.curve.pairs * _effective_draws(ours, models[index].law)
        excess = sum(ours.mixed - trace.mixed for ours, trace in zip(made, traces, strict=True))
        low, high = (cohesion, high) if excess > 0 else (low, cohesion)
    return models


def mean_law(laws: Sequence[TagLaw]) -> TagLaw:
    """Return the law with the geometric mean of the heads, for users of another trace."""
    return replace(laws[0], head=float(np.exp(np.mean([np.log(law.head) for law in laws]))))


class _UserBins:
    """Users by the number of tags that they assigned, half an octave in each bin."""

    def __init__(self, trace: UserTrace, limit: int) -> None:
        # A user near the limit has fewer tags than it would have without one.
        self._selected = np.flatnonzero(trace.assigned <= limit)
        halves = np.round(2 * np.log2(trace.assigned[self._selected])).astype(np.int64)
        self._bins = np.unique(halves, return_inverse=True)[1]
        self._counts = np.bincount(self._bins)
        self.weights: Floats = np.sqrt(self._counts)
        self.assigned = self._means(trace.assigned)
        self.tags = self._means(trace.tag_counts)
        self.factors = np.ones(len(self._counts))  # tags by the formula over those of generated users

    def correct(self, made: UserTrace, law: TagLaw) -> None:
        self.factors = law.expected_user_tags(self.assigned) / self._means(made.tag_counts)

    def _means(self, of_users: Numbers) -> Floats:
        means: Floats = np.bincount(self._bins, of_users[self._selected]) / self._counts
        return means


def _fit_user_law(users: Sequence[_UserBins]) -> tuple[float, float]:
    """Return discount and concentration."""

    def error(discount: float, log_concentration: float) -> float:
        law = TagLaw(0.5, 1.0, discount, float(np.exp(log_concentration)), 0.0)
        return sum(
            float(
                (bins.weights * np.log(law.expected_user_tags(bins.assigned) / (bins.tags * bins.factors)) ** 2).sum()
            )
            for bins in users
        )

    def best(discount: float) -> tuple[float, float]:
        return _minimum(lambda concentration: error(discount, concentration), _LOG_CONCENTRATION)

    discount, _ = _minimum(lambda discount: best(discount)[1], _DISCOUNT)
    return discount, float(np.exp(best(discount)[0]))


def _fit_common_law(draws: Sequence[Floats], tags: Sequence[Floats]) -> tuple[float, list[float]]:
    """Return the growth, and the head of each trace."""

    def best(growth: float, number: int) -> tuple[float, float]:
        def error(log_head: float) -> float:
            law = TagLaw(growth, float(np.exp(log_head)), 0.5, 1.0, 0.0)
            return float((np.log(law.expected_vocabulary(draws[number]) / tags[number]) ** 2).sum())

        return _minimum(error, _LOG_HEAD)

    growth, _ = _minimum(lambda growth: sum(best(growth, number)[1] for number in range(len(draws))), _GROWTH)
    return growth, [float(np.exp(best(growth, number)[0])) for number in range(len(draws))]


def _effective_draws(made: UserTrace, law: TagLaw) -> Floats:
    """Return the independent draws that would give the vocabulary of generated users, per pair of user and tag."""
    draws = np.geomspace(1.0, 1e10, 200)
    tags = np.log(law.expected_vocabulary(draws))
    effective: Floats = np.exp(np.interp(np.log(made.curve.tags), tags, np.log(draws))) / made.curve.pairs
    return np.clip(effective, 1 / _MAX_CORRECTION, _MAX_CORRECTION)


def _minimum(function: Callable[[float], float], bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the place and value of the minimum of a function with one valley, by the golden section."""
    low, high = bounds
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(_SECTIONS):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return min((at_left, left), (at_right, right))[::-1]


@dataclass(frozen=True)
class TraceMeasures:
    """Statistics of the sets of users."""

    tags_per_set: float
    tags_per_user: float  # different ones
    vocabulary: int  # different tags of all users
    distinct: float  # share of distinct sets
    kept_by_user: float  # share of sets that are minimal among those of their user
    kept: float  # share of sets that are minimal among all
    kept_per_tag: float  # minimal sets over the vocabulary


def measure(trace: UserTrace) -> TraceMeasures:
    """Measure the sets of users."""
    sets = trace.sets
    kept = len(minimal(sets.to_arrow()))
    return TraceMeasures(
        float(sets.sizes.mean()),
        float(trace.tag_counts.mean()),
        trace.vocabulary,
        np.count_nonzero(first_equal(sets) == np.arange(len(sets))) / len(sets),
        float(minimal_of_groups(trace.users, sets).mean()),
        kept / len(sets),
        kept / trace.vocabulary,
    )


def compare(model: UserModel, trace: UserTrace, seed: int = 1) -> dict[str, Any]:
    """Return the measures and curves of a trace, each beside that of as many generated users: JSON objects."""
    made = like_trace(model, trace, seed)
    measures = zip(fields(TraceMeasures), astuple(measure(trace)), astuple(measure(made)), strict=True)
    sizes = zip(*_equally_long(np.bincount(trace.sets.sizes), np.bincount(made.sets.sizes)), strict=True)
    curves = zip(trace.curve.users.tolist(), trace.curve.tags.tolist(), made.curve.tags.tolist(), strict=True)
    return {
        "users": len(trace),
        "sets": len(trace.sets),
        "measures": [
            {"measure": field.name, "trace": ours, "synthetic": theirs, "difference": theirs / ours - 1}
            for field, ours, theirs in measures
        ],
        "sizes": [
            {"size": size, "trace": int(ours), "synthetic": int(theirs)}
            for size, (ours, theirs) in enumerate(sizes)
            if ours or theirs
        ],
        "vocabulary": [{"users": users, "trace": ours, "synthetic": theirs} for users, ours, theirs in curves],
        "user_tags": _user_tags(trace, made),
    }


def _user_tags(trace: UserTrace, made: UserTrace) -> list[dict[str, Any]]:
    """Return the mean number of different tags of users, by the number of tags that they assigned, in octaves."""
    octaves = [np.floor(np.log2(each.assigned)).astype(np.int64) for each in (trace, made)]
    rows = []
    for octave in range(max(int(each.max()) for each in octaves) + 1):
        means = [
            float(each.tag_counts[of == octave].mean()) if (of == octave).any() else 0.0
            for each, of in zip((trace, made), octaves, strict=True)
        ]
        if any(means):
            rows.append({"assigned": 2**octave, "trace": means[0], "synthetic": means[1]})
    return rows


def _equally_long(*arrays: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    length = max(map(len, arrays))
    return [np.pad(each, (0, length - len(each))) for each in arrays]
