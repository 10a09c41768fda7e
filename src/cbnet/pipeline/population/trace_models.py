"""Models of the users of traces.

The fit holds the sets of users in memory, so a large trace is sampled by users, each with all its sets. The sample
does not depend on the partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.errors import InputError
from cbnet.matching.minimal_sets import encode_sets, first_equal
from cbnet.matching.storage.tag_sets import TagSets
from cbnet.pipeline.population.default_models import default_models
from cbnet.pipeline.population.law_fit import fit_models
from cbnet.pipeline.population.user_model import UserModel
from cbnet.pipeline.population.user_trace import UserTrace

MAX_SETS = 1_000_000
_STEPS = 1 << 20  # of a share of the users


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
