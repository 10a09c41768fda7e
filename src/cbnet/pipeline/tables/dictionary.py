"""The dictionary of tags and their numbers.

Tags are numbered by falling frequency, ties by the tag, so the last tag of a set is its rarest, independent of
partitions. Applications have weights: frequencies are those expected in the population, not those in the traces.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from cbnet.pipeline.schemas import SETS, TAGS

_UNITS = 10**12  # of all weights together; integers, so that sums do not depend on the order


def set_weights(expected: Mapping[str, float], sets: Mapping[str, int]) -> dict[str, int]:
    """Return the weight of a set of each application.

    expected: the relative number of descriptors of each in the population; sets: the number in each trace.
    """
    total = sum(expected.values()) or 1.0
    return {app: max(1, round(_UNITS * share / total / max(1, sets[app]))) for app, share in expected.items()}


def number_tags(descriptors: DataFrame, weights: Mapping[str, int]) -> DataFrame:
    """Return all tags of descriptors (DESCRIPTORS), numbered: TAGS; weights: of a set of each application."""
    weighted = descriptors.sparkSession.createDataFrame([*weights.items()], "app string, weight long")
    each = descriptors.join(F.broadcast(weighted), "app").select("weight", F.explode("tags").alias("tag"))
    counted = each.groupBy("tag").agg(F.sum("weight").alias("weight"), F.count("*").alias("sets"))
    # One task numbers them, sorted on disk if needed: 3 s of a processor per million tags, where the trace that has
    # them, a hundred times as many sets, takes minutes. Ranges by weight would read the whole trace twice more.
    rank = F.row_number().over(Window.orderBy(F.desc("weight"), "tag")) - 1
    return counted.withColumn("id", rank.cast("int")).select(*TAGS.names)


def numbered_sets(descriptors: DataFrame, tags: DataFrame) -> DataFrame:
    """Return descriptors with the numbers of their tags (TAGS): SETS. Those without tags are left out."""
    # `row` identifies a descriptor inside this query only.
    numbered = descriptors.select("app", "role", "user", "tags", F.monotonically_increasing_id().alias("row"))
    each = numbered.select("app", "role", "user", "row", F.explode("tags").alias("tag"))
    each = each.join(tags.select("tag", "id"), "tag")
    sets = each.groupBy("row", "app", "role", "user").agg(F.sort_array(F.collect_list("id")).alias("tags"))
    return sets.select(*SETS.names)
