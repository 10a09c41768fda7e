"""Models of the users of applications: fitted to a trace, or default ones.

The fit holds the sets of users in memory, so a large trace is sampled by users, each with all its sets. The sample
does not depend on the partitions.

Defaults: growth, discount, concentration and cohesion are those of a fit to 1,892 listeners of music and 1,630 authors
of tweets, and so is the head of social users (see docs/explanation/pipeline.md). Web users have the head and the
discount of the largest published crawl of Delicious: 833,081 users with 301.2 million tags, 82.0 million pairs of user
and tag, 4.51 million different tags [KONECT delicious-ut]. Sizes of sets are the paper's means where it gives them:
3.18 tags per bookmark, 10 per topic of blogs, 400 topics [2014 §4.2.1].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.errors import InputError
from cbnet.matching.minimal_sets import TagSets, encode_sets, first_equal
from cbnet.pipeline.population.law_fit import fit_models
from cbnet.pipeline.population.user_model import Activity, Floats, TagLaw, UserModel, drawn_sets
from cbnet.pipeline.population.user_trace import UserTrace

MAX_SETS = 1_000_000
_STEPS = 1 << 20  # of a share of the users
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


def models_of_apps(
    traces: Mapping[str, UserTrace], kinds: Mapping[str, str], known: int = 0, *, seed: int = 0
) -> dict[str, UserModel]:
    """Return a model of each application: fitted to its trace, or the default one of its kind.

    kinds: by application. known: number of tags of the dictionary; others get numbers above, different for each model.
    """
    missing = [*dict.fromkeys(kind for app, kind in kinds.items() if app not in traces)]
    defaults = default_models(missing, first=known + len(traces), seed=seed)
    stride = len(traces) + len(missing)
    models = {}
    for app, kind in kinds.items():
        if app in traces:
            fitted = _fitted(traces[app], kind, seed)
            models[app] = replace(fitted, first_new=known + [*traces].index(app), stride=stride)
        else:
            models[app] = replace(defaults[kind], stride=stride)
    return models


def user_trace(rows: DataFrame, name: str, *, max_sets: int = MAX_SETS) -> UserTrace:
    """Return at most about `max_sets` sets of rows with `user` and `tags`, strings or numbers, of whole users."""
    rows = rows.where(F.size("tags") > 0).select("user", "tags")
    total = rows.count()
    if not total:
        raise InputError(f"{name} has no tag sets", hint="leave it out, or give it a trace with tags")
    chosen = F.pmod(F.xxhash64("user"), F.lit(_STEPS)) < max(1.0, _STEPS * max_sets / total)
    table = rows.where(chosen).orderBy("user", "tags").toArrow().combine_chunks()
    if not table.num_rows:
        raise InputError(f"{name}: no user was sampled", hint="the trace has too few users")
    users = np.unique(table["user"].to_numpy(zero_copy_only=False).astype(str), return_inverse=True)[1]
    tags = table["tags"].chunk(0)
    sets = TagSets.from_arrow(tags) if pa.types.is_integer(tags.type.value_type) else encode_sets(tags)
    return UserTrace(users.astype(np.int64), sets)


def _fitted(trace: UserTrace, kind: str, seed: int) -> UserModel:
    if kind != "blog":
        [model] = fit_models([trace], seed=seed)
        return replace(model, known=np.unique(trace.sets.tags))
    # Authors choose among topics: whole sets, which are never combined.
    topics, of_set, counts = np.unique(first_equal(trace.sets), return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order))
    [model] = fit_models([UserTrace(trace.users, TagSets(np.arange(len(of_set) + 1), ranks[of_set]))], seed=seed)
    return replace(model, topics=trace.sets.take(topics[order]))
