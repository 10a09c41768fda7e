"""Models of the applications, fitted to their traces or to synthetic ones.

A model keeps sets in memory, so a large trace is sampled: each distinct set keeps its share of copies, rounded up or
down by its hash. The sample does not depend on the partitions.

Tags that are in no trace get numbers above all known ones, different for each application.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from cbnet.errors import InputError
from cbnet.matching.storage.tag_sets import TagSets
from cbnet.pipeline.population.synthetic_trace import synthetic_trace
from cbnet.pipeline.population.tag_model import TagModel, fit
from cbnet.pipeline.schemas import DESCRIPTORS, arrow_schema

MAX_SETS = 500_000
SYNTHETIC_SETS = 20_000  # of a synthetic trace
_ROUNDING_STEPS = 1 << 20


def models_of_traces(
    sets: DataFrame, apps: Sequence[str], known: int, *, max_sets: int = MAX_SETS, seed: int = 0
) -> dict[str, TagModel]:
    """Fit a model to each application; sets: SETS, known: number of tags of the dictionary."""
    return {
        app: fit(_sample(sets, app, max_sets), seed=seed, first_new=known + number, stride=len(apps))
        for number, app in enumerate(apps)
    }


def models_without_traces(apps: Sequence[str], *, seed: int = 0) -> dict[str, TagModel]:
    """Fit models to synthetic traces; no two applications share a tag."""
    traces = [synthetic_trace(app, SYNTHETIC_SETS, seed) for app in apps]
    disjoint = [  # the most frequent tags of all applications have the lowest numbers
        TagSets(trace.offsets, trace.tags * len(apps) + np.int32(number)) for number, trace in enumerate(traces)
    ]
    known = max(int(trace.tags.max()) for trace in disjoint) + 1
    first = -(-known // len(apps)) * len(apps)
    return {
        app: fit(trace, seed=seed, first_new=first + number, stride=len(apps))
        for number, (app, trace) in enumerate(zip(apps, disjoint, strict=True))
    }


def synthetic_descriptors(spark: SparkSession, app: str, kind: str, role: str, seed: int) -> DataFrame:
    """Return the DESCRIPTORS of a synthetic trace, for an application without one beside others that have one."""
    sets = synthetic_trace(kind, SYNTHETIC_SETS, seed).to_lists()
    tags = [sorted(f"{app} {tag}" for tag in row) for row in sets]
    columns = [[app] * len(tags), [role] * len(tags), [None] * len(tags), tags]
    schema = arrow_schema(DESCRIPTORS)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return spark.createDataFrame(pa.table(arrays, schema))


def _sample(sets: DataFrame, app: str, max_sets: int) -> TagSets:
    """Return at most about `max_sets` sets of an application, sorted."""
    counted = sets.where((F.col("app") == app) & (F.size("tags") > 0)).groupBy("tags").count()
    total = counted.agg(F.sum("count")).collect()[0][0] or 0
    if not total:
        raise InputError(f"application {app!r} has no tag sets", hint="leave it out, or give it a trace with tags")
    share = min(1.0, max_sets / total)
    rounding = F.pmod(F.xxhash64("tags"), F.lit(_ROUNDING_STEPS)) / _ROUNDING_STEPS
    copies = F.floor(F.col("count") * share + (rounding if share < 1 else F.lit(0.5))).cast("int")
    rows = counted.withColumn("copies", copies).where("copies > 0").orderBy("tags").toArrow().combine_chunks()
    distinct = TagSets.from_arrow(rows["tags"].chunk(0))
    return distinct.take(np.repeat(np.arange(len(distinct)), np.asarray(rows["copies"])))
