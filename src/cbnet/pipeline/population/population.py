"""Population: who wants or offers what, and where? [2014 §4.2.2]

The users of the world are clusters of 1000, each at an AS (see `as_users`). A cluster is elected to use each
application with the probability of that application; a cluster that is elected has a number of descriptors, drawn from
those of the application:

    cluster ──► node
       ├─ web?     50 %     ──► n descriptors of web users
       ├─ blog?     7.24 %  ──► …
       ├─ video?    3.49 %
       └─ social?  20 %

Everything about a cluster is a function of the seed and of its number: any number of partitions makes the same rows.

The paper does not say how many descriptors a cluster has. As many as a user of the trace has, on average (134 for the
web), would give 169 million; its Table 1 has 85.5 million. So the number is a parameter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from cbnet.errors import InputError
from cbnet.matching.storage.tag_sets import TagSets
from cbnet.pipeline.population.counter_random import below, units, wide_units, words
from cbnet.pipeline.population.model import Model
from cbnet.pipeline.population.model_file import open_model, ship_model
from cbnet.pipeline.population.synthetic_sets import synthetic_rows
from cbnet.pipeline.schemas import POPULATION, arrow_schema
from cbnet.pipeline.spark.partitions import partitions_for
from cbnet.pipeline.spark.shipped_arrays import Shipped

CLUSTERS = 2_500_000

_ELECTION, _DRAWS = 16, 17
_AT_ONCE = 2048  # clusters: some 70,000 descriptors


@dataclass(frozen=True)
class Application:
    """How many clusters use an application, and how much they say."""

    name: str
    role: str  # "subscription" or "offer"
    share: float  # of clusters
    descriptors: float  # of a cluster that uses it, on average
    sets: int | None = None  # made by the model, to draw from; None: those of the trace, as they are


# Shares: [2014 §4.2.2]. Descriptors: those of a user of the paper's traces, on average [2014 §4.2.1].
APPLICATIONS = (
    Application("web", "subscription", 0.5, 123_248_896 / 922_651, 123_248_896),
    Application("blog", "subscription", 0.0724, 178_189 / 59_185),
    Application("video", "offer", 0.0349, 10_351 / 782),
    Application("social", "subscription", 0.2, 446_370 / 349_753, 446_370),
)


def population(
    spark: SparkSession,
    models: Mapping[str, Model],
    first_clusters: NDArray[np.int64],
    *,
    applications: Sequence[Application] = APPLICATIONS,
    seed: int = 0,
    partitions: int | None = None,
) -> DataFrame:
    """Return the descriptors of all clusters: POPULATION.

    models: of each application, by its name. first_clusters: int64[nodes + 1], see `as_users.first_clusters`.
    """
    _check(applications, models)
    shipped = [ship_model(spark, models[app.name]) for app in applications]
    clusters = int(first_clusters[-1])
    expected = clusters * sum(app.share * app.descriptors for app in applications)
    numbers = spark.range(0, clusters, 1, partitions or partitions_for(spark, expected))
    make = partial(_made, first_clusters=first_clusters, applications=tuple(applications), shipped=shipped, seed=seed)
    return numbers.mapInArrow(make, POPULATION)


def cluster_sets(
    clusters: NDArray[np.int64], app: Application, number: int, model: Model, seed: int
) -> tuple[NDArray[np.int64], TagSets]:
    """Return the descriptors of clusters that use an application, and for each the place of its cluster.

    number: of the application, among all.
    """
    chance, rounding, _, _ = words(seed, _stream(number, _ELECTION), clusters)
    counts = np.where(units(chance) < app.share, np.floor(app.descriptors + units(rounding)), 0).astype(np.int64)
    places = np.repeat(np.arange(len(clusters)), counts)
    slots = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    high, low, _, _ = words(seed, _stream(number, _DRAWS), clusters[places], slots)
    rows = below(wide_units(high, low), app.sets or len(model.sets))
    return places, model.sets.take(rows) if app.sets is None else synthetic_rows(model, seed + number, rows)


def _made(
    batches: Iterator[pa.RecordBatch],
    first_clusters: NDArray[np.int64],
    applications: Sequence[Application],
    shipped: Sequence[Shipped],
    seed: int,
) -> Iterator[pa.RecordBatch]:
    models = [open_model(file) for file in shipped]
    for batch in batches:
        numbers = np.asarray(batch.column(0))
        for start in range(0, len(numbers), _AT_ONCE):
            clusters = numbers[start : start + _AT_ONCE]
            nodes = (np.searchsorted(first_clusters, clusters, side="right") - 1).astype(np.int32)
            for number, (app, model) in enumerate(zip(applications, models, strict=True)):
                places, sets = cluster_sets(clusters, app, number, model, seed)
                if len(sets):
                    yield _batch(nodes[places], app, sets)


def _batch(nodes: NDArray[np.int32], app: Application, sets: TagSets) -> pa.RecordBatch:
    columns = [
        pa.array(nodes),
        pa.repeat(app.name, len(nodes)),
        pa.repeat(app.role, len(nodes)),
        sets.to_arrow(),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(POPULATION))


def _stream(number: int, purpose: int) -> int:
    return number << 8 | purpose


def _check(applications: Sequence[Application], models: Mapping[str, Model]) -> None:
    for app in applications:
        if app.name not in models:
            raise InputError(f"there is no model of the application {app.name!r}", hint="give one for each application")
        if not 0 <= app.share <= 1 or app.descriptors < 0 or (app.sets is not None and app.sets < 1):
            raise InputError(
                f"application {app.name!r}: a share from 0 to 1, 0 or more descriptors and 1 or more sets are needed"
            )
