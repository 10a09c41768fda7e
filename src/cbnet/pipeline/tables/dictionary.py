"""The dictionary: which number has each tag?

Numbers rise as tags become rarer, ties by the tag: so the last tag of a set is its rarest, whatever the partitions.
Applications weigh differently: what counts is how often a tag will be said by the population, not how long a trace is.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from cbnet.pipeline.schemas import SETS, TAGS

_UNITS = 10**12  # of all weights together; whole numbers, whose sums do not depend on the order


def set_weights(expected: Mapping[str, float], sets: Mapping[str, int]) -> dict[str, int]:
    """Return how much a set of each application weighs.

    expected: descriptors of each in the population, relative to each other; sets: how many each trace has.
    """
    total = sum(expected.values()) or 1.0
    return {app: max(1, round(_UNITS * share / total / max(1, sets[app]))) for app, share in expected.items()}


def number_tags(descriptors: DataFrame, weights: Mapping[str, int]) -> DataFrame:
    """Return all tags of descriptors (DESCRIPTORS), numbered: TAGS; weights: of a set of each application."""
    known = descriptors.sparkSession.createDataFrame([*weights.items()], "app string, weight long")
    each = descriptors.join(F.broadcast(known), "app").select("weight", F.explode("tags").alias("tag"))
    counted = each.groupBy("tag").agg(F.sum("weight").alias("weight"), F.count("*").alias("sets"))
    # One task sorts them: a vocabulary is small beside its trace, and a sort that does not fit goes to the disk.
    place = F.row_number().over(Window.orderBy(F.desc("weight"), "tag")) - 1
    return counted.withColumn("id", place.cast("int")).select(*TAGS.names)


def numbered_sets(descriptors: DataFrame, tags: DataFrame) -> DataFrame:
    """Return descriptors with the numbers of their tags (TAGS): SETS. Those without tags are left out."""
    # A number for each descriptor lives only inside this query; its value does not matter, and no two are equal.
    told = descriptors.select("app", "role", "tags", F.monotonically_increasing_id().alias("row"))
    each = told.select("app", "role", "row", F.explode("tags").alias("tag")).join(tags.select("tag", "id"), "tag")
    sets = each.groupBy("row", "app", "role").agg(F.sort_array(F.collect_list("id")).alias("tags"))
    return sets.select(*SETS.names)
