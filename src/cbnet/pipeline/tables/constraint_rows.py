"""Descriptors as rows of constraints, one for each tag.

    rule  filter  name     op          rule 7: #jazz and #vinyl
    7     0       jazz     #
    7     0       vinyl    #

Filters have distinct numbers in no particular order.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.routing.multitree.folding import TREE_TAG

UNNAMED = "tag "  # with its number, the name of a tag without a dictionary entry, such as a synthetic one


def constraint_rows(descriptors: DataFrame, tags: DataFrame | None) -> DataFrame:
    """Return descriptors as constraints: `rule`, `filter`, `name`, `op`.

    descriptors: `rule`, `tags` and optionally `tree`, a number or null. tags: TAGS, or None without a dictionary.
    """
    # Sorted, so that a partition that is recomputed after a failure gets the same numbers.
    numbered = descriptors.sortWithinPartitions(*descriptors.columns)
    numbered = numbered.withColumn("filter", F.monotonically_increasing_id())
    rows = numbered.select("rule", "filter", F.explode(_required(descriptors)).alias("id"))
    if tags is None:
        named = rows.withColumn("name", _default_name())
    else:
        named = rows.join(tags.select("id", "tag"), "id", "left")
        named = named.withColumn("name", F.coalesce(F.col("tag"), _default_name()))
    return named.select("rule", "filter", "name", F.lit("#").alias("op"))


def _required(descriptors: DataFrame) -> Column:
    """Return the tags of a descriptor, and its tree as -1, -2 …; tags are not negative."""
    if "tree" not in descriptors.columns:
        return F.col("tags")
    tree = F.when(F.col("tree").isNull(), F.array().cast("array<int>")).otherwise(F.array(-1 - F.col("tree")))
    return F.concat("tags", tree)


def _default_name() -> Column:
    number = F.abs("id").cast("string")
    return F.when(F.col("id") < 0, F.concat(F.lit(TREE_TAG), number)).otherwise(F.concat(F.lit(UNNAMED), number))
