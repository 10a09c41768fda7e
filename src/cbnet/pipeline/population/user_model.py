"""The model of the users of an application, from which any number of users is generated.

A user has a number of tag sets, and draws the tags one after another [Pitman and Yor 1997]. With n draws so far, of
which k were new, the next one is new with the probability (concentration + discount · k) / (concentration + n); else
it repeats an earlier draw. So users repeat their own tags, and never stop having new ones.

A new tag comes from a law that all users share:

    p(rank) ~ (rank + head)^(-1 / growth)        different tags of all users grow like (new tags of users)^growth

Tags of a set belong together. With the probability `cohesion` a further tag has the origin of the one before:

    the one before was new         a neighbour of a tag of the set: a step of a walk over tags that occur together
    it was from an earlier set     another tag of that set

Neighbours are the same for all users, and about as popular as the tag; the walk leaves the popularity of tags as it is.

Numbers of sets are lognormal. The share of one-tag sets differs from user to user; sizes of other sets do not.

A user is a function of model, seed, stream and number alone: any partition can generate any user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import lru_cache
from math import lgamma
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from cbnet._kernels import user_tags
from cbnet.matching.minimal_sets import Numbers, Tags, TagSets
from cbnet.pipeline.population.counter_random import units, words
from cbnet.pipeline.population.user_trace import UserTrace
from cbnet.pipeline.schemas import MODELS, arrow_schema
from cbnet.pipeline.spark.shipped_data import ShippedData, ship_table

MAX_TAG = 2**31 - 1
NO_LIMIT = 2**62
_GRID = 400  # points of an integral
_ACTIVITY, _TAGS, _NEIGHBOURS = 0, 1, 2  # streams of random numbers

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TagLaw:
    """The parameters above."""

    growth: float
    head: float
    discount: float
    concentration: float
    cohesion: float

    def array(self) -> Floats:
        """Return the parameters: float64[5]."""
        return np.array(astuple(self))

    def expected_vocabulary(self, draws: Floats) -> Floats:
        """Return the expected number of different tags among independent draws of the common law."""
        ranks = np.concatenate([[0.0], np.geomspace(0.1, MAX_TAG, _GRID)])
        tail = 1 / self.growth - 1
        chances = tail / self.head * (1 + ranks / self.head) ** -(tail + 1)
        seen = -np.expm1(-np.outer(draws, chances))
        expected: Floats = np.trapezoid(seen, ranks, axis=1)
        return expected

    def expected_user_tags(self, draws: Floats) -> Floats:
        """Return the expected number of new tags among the draws of a user [Pitman 2006, §3.2]."""
        c, d = self.concentration, self.discount
        fixed = lgamma(c + 1) - lgamma(c + d)
        logs = np.array([lgamma(c + n + d) - lgamma(c + n) + fixed for n in draws.tolist()])
        expected: Floats = (np.exp(logs) - c) / d
        return expected


@dataclass(frozen=True, eq=False)
class Activity:
    """How much users tag."""

    deviation: float  # of the logarithm of the number of sets
    one_tag: Floats  # share of one-tag sets: quantiles over the users, from the smallest to the largest
    sizes: Floats  # cumulative shares of the sizes 2, 3, …
    limit: int = NO_LIMIT  # tags of a user, if the trace has no more


@dataclass(frozen=True, eq=False)
class UserModel:
    """A law of tags, the activity of users, and the numbers of tags."""

    law: TagLaw
    activity: Activity
    known: Tags  # numbers of the first ranks, ascending
    first_new: int = 0  # the number of the rank after them
    stride: int = 1  # of these: the numbers between belong to other models
    topics: TagSets | None = None  # if given: ranks are topics, each a set of tags

    @property
    def last(self) -> int:
        """The largest rank."""
        if self.topics is not None:
            return len(self.topics) - 1
        return len(self.known) + (MAX_TAG - self.first_new) // self.stride - 1

    def numbered(self, ranks: TagSets) -> TagSets:
        """Return sets of ranks as sets of tag numbers."""
        if self.topics is not None:
            return self.topics.take(ranks.tags)  # a topic is a set of its own
        known = len(self.known)
        new = self.first_new + (ranks.tags.astype(np.int64) - known) * self.stride
        if not known:
            return TagSets(ranks.offsets, new.astype(np.int32))
        old = self.known[np.minimum(ranks.tags, known - 1)]
        return TagSets(ranks.offsets, np.where(ranks.tags < known, old, new).astype(np.int32))


def user_sets(
    model: UserModel, seed: int, stream: int, users: NDArray[np.integer], mean: float
) -> tuple[Numbers, TagSets]:
    """Return the number of sets of each user, and the sets; mean: sets of a user; stream: below 2**24."""
    first, second, rounding, share = (units(word) for word in words(seed, stream << 8 | _ACTIVITY, users))
    normal = np.sqrt(-2 * np.log1p(-first)) * np.cos(2 * np.pi * second)  # [Box and Muller 1958]
    deviation = model.activity.deviation
    more = max(0.0, mean - 1) * np.exp(deviation * normal - deviation**2 / 2)
    counts = np.floor(min(1.0, mean) + more + rounding).astype(np.int64)
    quantiles = model.activity.one_tag
    one_tag = np.interp(share, np.linspace(0, 1, len(quantiles)), quantiles)
    return counts, drawn_sets(model, seed, stream, users, counts, one_tag)


def like_trace(model: UserModel, trace: UserTrace, seed: int) -> UserTrace:
    """Return as many users as a trace has, each with the number of sets and the share of one-tag sets of one."""
    users = np.arange(len(trace))
    return UserTrace(trace.users, drawn_sets(model, seed, 0, users, trace.set_counts, trace.one_tag))


def drawn_sets(
    model: UserModel, seed: int, stream: int, users: NDArray[np.integer], counts: Numbers, one_tag: Floats
) -> TagSets:
    """Return the sets of users with these numbers of sets and shares of one-tag sets."""
    activity = model.activity
    offsets = np.zeros(int(counts.sum()) + 1, dtype=np.int64)
    tags = np.empty((len(offsets) - 1) * (len(activity.sizes) + 1), dtype=np.int32)
    user_tags.draw_users(
        seed, stream << 8 | _TAGS, stream << 8 | _NEIGHBOURS, np.asarray(users, dtype=np.uint64), counts,
        one_tag, activity.sizes, model.law.array(), activity.limit, model.last, offsets, tags,
    )  # fmt: skip
    return model.numbered(TagSets(offsets, tags[: offsets[-1]].copy()))


def ship_models(spark: SparkSession, models: Mapping[str, UserModel]) -> ShippedData:
    """Send models, by application, to all executors of a session."""
    return ship_table(spark, model_table(models))


@lru_cache(maxsize=8)
def open_models(shipped: ShippedData) -> dict[str, UserModel]:
    """Return models in a task; they are kept as long as the process."""
    return models_of_table(shipped.table())


def model_table(models: Mapping[str, UserModel]) -> pa.Table:
    """Return models as rows of MODELS."""
    rows = [
        {
            "app": app,
            "law": model.law.array(),
            "deviation": model.activity.deviation,
            "one_tag": model.activity.one_tag,
            "sizes": model.activity.sizes,
            "limit": model.activity.limit,
            "known": model.known,
            "first_new": model.first_new,
            "stride": model.stride,
            "topic_offsets": None if model.topics is None else model.topics.offsets,
            "topic_tags": None if model.topics is None else model.topics.tags,
        }
        for app, model in models.items()
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(MODELS))


def models_of_table(table: pa.Table) -> dict[str, UserModel]:
    """Return the models of rows of MODELS."""
    return {
        batch["app"][row].as_py(): _model({name: batch[name][row] for name in batch.schema.names})
        for batch in table.combine_chunks().to_batches()
        for row in range(batch.num_rows)
    }


def _model(row: Mapping[str, Any]) -> UserModel:
    def array(name: str) -> Any:
        return np.asarray(row[name].values)

    return UserModel(
        TagLaw(*row["law"].as_py()),
        Activity(row["deviation"].as_py(), array("one_tag"), array("sizes"), row["limit"].as_py()),
        array("known"),
        row["first_new"].as_py(),
        row["stride"].as_py(),
        TagSets(array("topic_offsets"), array("topic_tags")) if row["topic_offsets"].is_valid else None,
    )
