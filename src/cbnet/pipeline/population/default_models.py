"""Models of the applications, for users without a trace.

Growth, discount, concentration and cohesion are those of a fit to 1,892 listeners of music and 1,630 authors of tweets,
and so is the head of social users (see docs/explanation/pipeline.md). Web users have the head and the discount of the
largest published crawl of Delicious: 833,081 users with 301.2 million tags, 82.0 million pairs of user and tag, 4.51
million different tags [KONECT delicious-ut]. Sizes of sets are the paper's means where it gives them: 3.18 tags per
bookmark, 10 per topic of blogs, 400 topics [2014 §4.2.1].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from cbnet.errors import InputError
from cbnet.matching.storage.tag_sets import TagSets
from cbnet.pipeline.population.user_model import Activity, Floats, TagLaw, UserModel
from cbnet.pipeline.population.user_sets import drawn_sets

_TOPICS, _TOPIC_TAGS = 400, 10
_MAX_TAGS = 30  # of a set
_TRACES = TagLaw(growth=0.739, head=94.0, discount=0.857, concentration=0.018, cohesion=0.32)
_WEB_LAW = replace(_TRACES, head=220.0, discount=0.765)
# Authors differ in their topics, and rarely have one twice.
_TOPIC_LAW = TagLaw(growth=0.9, head=5.0, discount=0.5, concentration=1000.0, cohesion=0.0)


def default_models(kinds: Sequence[str], *, first: int = 0, seed: int = 0) -> dict[str, UserModel]:
    """Return a model of each kind; no two share a tag. first: the first tag number that is free."""
    unknown = [kind for kind in kinds if kind not in _MODELS]
    if unknown:
        raise InputError(f"unknown application {unknown[0]!r}", hint="use one of " + ", ".join(_MODELS))
    # The most frequent tags of all models have the lowest numbers.
    models = {
        kind: replace(_MODELS[kind], first_new=first + number, stride=len(kinds)) for number, kind in enumerate(kinds)
    }
    if "blog" in models:
        models["blog"] = replace(models["blog"], topics=_topics(models["blog"], seed))
    return models


def _topics(model: UserModel, seed: int) -> TagSets:
    """Return the topics of blogs: sets of one user of the Web who has no two of them."""
    sizes = np.zeros(_TOPIC_TAGS - 1)
    sizes[-1] = 1.0
    author = replace(model, law=_WEB_LAW, activity=Activity(0.0, np.zeros(1), sizes))
    return drawn_sets(author, seed, 0, np.zeros(1, dtype=np.int64), np.array([_TOPICS]), np.zeros(1))


def _geometric(mean: float) -> Floats:
    """Return the cumulative shares of the sizes 2, 3, … with this mean."""
    shares = (1 - 1 / (mean - 1)) ** np.arange(_MAX_TAGS - 1)
    cumulative: Floats = np.cumsum(shares) / shares.sum()
    return cumulative


def _model(law: TagLaw, deviation: float, one_tag: Sequence[float], mean: float) -> UserModel:
    return UserModel(law, Activity(deviation, np.array(one_tag), _geometric(mean)), np.zeros(0, dtype=np.int32))


_MODELS: Mapping[str, UserModel] = {
    "web": _model(_WEB_LAW, 1.6, (0, 0, 0, 0.03, 0.07, 0.12, 0.18, 0.26, 0.4, 0.62, 1), 3.7),
    "blog": _model(_TOPIC_LAW, 1.0, (1,), 2.5),
    "video": _model(_TRACES, 1.3, (0, 0.1), 9.4),
    "social": _model(
        replace(_TRACES, head=357.0), 1.75, (0.02, 0.5, 0.59, 0.64, 0.67, 0.7, 0.73, 0.76, 0.79, 0.83, 1), 2.52
    ),
}
