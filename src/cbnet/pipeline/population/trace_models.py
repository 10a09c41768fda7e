"""Trace models: what models do the descriptors of applications have, or those without a trace?

A model keeps sets in memory, so a large trace is thinned: each distinct set keeps its share of copies, rounded up or
down by its hash. That is the same however the trace is cut into parts.

Tags that a trace has not seen get numbers behind all that are known, a different one for each application.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.errors import InputError
from cbnet.pipeline.population.model import Model, fit
from cbnet.pipeline.population.synthetic_trace import grown_trace
from cbnet.pipeline.tables.tag_sets import TagSets

MOST_SETS = 500_000
_GROWN = 20_000  # sets of a trace that is made up
_PARTS = 1 << 20  # of the unit, by which counts are rounded


def models_of_traces(
    sets: DataFrame, apps: Sequence[str], known: int, *, most: int = MOST_SETS, seed: int = 0
) -> dict[str, Model]:
    """Return the models of applications; sets: SETS, known: how many tags the dictionary has."""
    return {
        app: fit(_collected(sets, app, most), seed=seed, first_new=known + place, stride=len(apps))
        for place, app in enumerate(apps)
    }


def models_without_traces(apps: Sequence[str], *, seed: int = 0) -> dict[str, Model]:
    """Return models of made-up traces; no two applications have a tag in common."""
    traces = [grown_trace(app, _GROWN, seed) for app in apps]
    spread = [  # the most frequent tags of all applications have the lowest numbers
        TagSets(trace.offsets, trace.tags * len(apps) + np.int32(place)) for place, trace in enumerate(traces)
    ]
    known = max(int(trace.tags.max()) for trace in spread) + 1
    first = -(-known // len(apps)) * len(apps)
    return {
        app: fit(trace, seed=seed, first_new=first + place, stride=len(apps))
        for place, (app, trace) in enumerate(zip(apps, spread, strict=True))
    }


def _collected(sets: DataFrame, app: str, most: int) -> TagSets:
    """Return the sets of an application, thinned to about as many, in order."""
    counted = sets.where((F.col("app") == app) & (F.size("tags") > 0)).groupBy("tags").count()
    total = counted.agg(F.sum("count")).collect()[0][0] or 0
    if not total:
        raise InputError(f"there are no sets of the application {app!r}", hint="leave it out, or give a trace of it")
    share = min(1.0, most / total)
    rounding = F.pmod(F.xxhash64("tags"), F.lit(_PARTS)) / _PARTS
    copies = F.floor(F.col("count") * share + (rounding if share < 1 else F.lit(0.5))).cast("int")
    rows = counted.withColumn("copies", copies).where("copies > 0").orderBy("tags").toArrow().combine_chunks()
    distinct = TagSets.from_arrow(rows["tags"].chunk(0))
    return distinct.take(np.repeat(np.arange(len(distinct)), np.asarray(rows["copies"])))
