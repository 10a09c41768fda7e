"""Election of the users of every node: the population and its descriptors [2014 §4.2.2].

Users are clusters of 1000, each at an AS (see `users_per_as`). A cluster uses each application with the probability of
that application, and then elects one of its users, whose descriptors it has:

    cluster ──► node
       ├─ web?     50 %     ──► one of 922,651 web users ──► its descriptors
       ├─ blog?     7.24 %  ──► …
       ├─ video?    3.49 %
       └─ social?  20 %

Clusters and users are functions of the seed and their numbers alone: any number of partitions gives the same rows.

The mean of the trace's users (134 for the web) gives 169 million descriptors in all; Table 1 of the paper has 85.5
million. It may count those that users announce, which are minimal among their own: `announced`.
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
from cbnet.matching.minimal_sets import TagSets
from cbnet.pipeline.population.counter_random import below, units, wide_units, words
from cbnet.pipeline.population.user_model import UserModel, open_models, ship_models, user_sets
from cbnet.pipeline.population.user_trace import minimal_of_groups
from cbnet.pipeline.schemas import POPULATION, record_batch
from cbnet.pipeline.spark.parallelism import partitions_for
from cbnet.pipeline.spark.shipped_data import ShippedData

_ELECTION = 16  # stream of random numbers
_AT_ONCE = 70_000  # descriptors of an application that a task generates at once: some 20 MB


@dataclass(frozen=True)
class Application:
    """The share of clusters that use an application, and their descriptors."""

    name: str
    role: str  # "subscription" or "offer"
    share: float  # of clusters
    descriptors: float  # per cluster that uses it, on average
    users: int  # to elect from


# Shares: [2014 §4.2.2]. Descriptors: the mean of the users of the paper's traces [2014 §4.2.1].
APPLICATIONS = (
    Application("web", "subscription", 0.5, 123_248_896 / 922_651, 922_651),
    Application("blog", "subscription", 0.0724, 178_189 / 59_185, 59_185),
    Application("video", "offer", 0.0349, 10_351 / 782, 782),
    Application("social", "subscription", 0.2, 446_370 / 349_753, 349_753),
)


def population(
    spark: SparkSession,
    models: Mapping[str, UserModel],
    first_clusters: NDArray[np.int64],
    *,
    applications: Sequence[Application] = APPLICATIONS,
    seed: int = 0,
    partitions: int | None = None,
) -> DataFrame:
    """Return the descriptors of all clusters: POPULATION.

    models: by the name of the application. first_clusters: int64[nodes + 1], see `users_per_as.first_clusters`.
    """
    _check(applications, models)
    shipped = ship_models(spark, {app.name: models[app.name] for app in applications})
    clusters = int(first_clusters[-1])
    expected = clusters * sum(app.share * app.descriptors for app in applications)
    numbers = spark.range(0, clusters, 1, partitions or partitions_for(spark, expected))
    generate = partial(
        _generate, first_clusters=first_clusters, applications=tuple(applications), shipped=shipped, seed=seed
    )
    return numbers.mapInArrow(generate, POPULATION)


def cluster_sets(
    clusters: NDArray[np.int64], app: Application, number: int, model: UserModel, seed: int
) -> tuple[NDArray[np.int64], TagSets]:
    """Return the index of the cluster of each descriptor, and the descriptors, of clusters that use an application.

    number: of the application among all.
    """
    chance, high, low, _ = words(seed, number << 8 | _ELECTION, clusters)
    elected = np.flatnonzero(units(chance) < app.share)
    users = below(wide_units(high[elected], low[elected]), app.users)
    counts, sets = user_sets(model, seed, number, users, app.descriptors)
    return np.repeat(elected, counts), sets


def _generate(
    batches: Iterator[pa.RecordBatch],
    first_clusters: NDArray[np.int64],
    applications: Sequence[Application],
    shipped: ShippedData,
    seed: int,
) -> Iterator[pa.RecordBatch]:
    models = open_models(shipped)
    chunk = max(1, int(_AT_ONCE / max(1.0, *(app.share * app.descriptors for app in applications))))
    for batch in batches:
        numbers = np.asarray(batch.column(0))
        for start in range(0, len(numbers), chunk):
            clusters = numbers[start : start + chunk]
            nodes = (np.searchsorted(first_clusters, clusters, side="right") - 1).astype(np.int32)
            for number, app in enumerate(applications):
                indexes, sets = cluster_sets(clusters, app, number, models[app.name], seed)
                if len(sets):
                    names = (pa.repeat(name, len(sets)) for name in (app.name, app.role))
                    announced = minimal_of_groups(indexes, sets)
                    yield record_batch(POPULATION, nodes[indexes], *names, sets.to_arrow(), announced)


def _check(applications: Sequence[Application], models: Mapping[str, UserModel]) -> None:
    for app in applications:
        if app.name not in models:
            raise InputError(f"application {app.name!r} has no model", hint="give a model for each application")
        if not 0 <= app.share <= 1 or app.descriptors < 0 or app.users < 1:
            raise InputError(
                f"application {app.name!r}: share must be from 0 to 1, descriptors 0 or more, users 1 or more"
            )
