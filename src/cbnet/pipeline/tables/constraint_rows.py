"""Constraint rows: how are descriptors written as the predicates of any table? One row for each tag.

    interface  filter  name     op          interface 7: #jazz and #vinyl
    7          0       jazz     #
    7          0       vinyl    #

Filters are numbered, each differently, in no order that means anything.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

UNNAMED = "tag "  # and its number: what a tag is called that is in no dictionary, as synthetic ones are
TREE = "tree "  # and its number, from 1: the tag of a tree in a folded table


def constraint_rows(descriptors: DataFrame, tags: DataFrame | None) -> DataFrame:
    """Return descriptors as constraints: `interface`, `filter`, `name`, `op`.

    descriptors: `interface`, `tags`, and perhaps `tree`: a number, or null where none is required. tags: TAGS; None
    if there is no dictionary.
    """
    # In order, so that a part that is made again after a failure gets the same numbers.
    numbered = descriptors.sortWithinPartitions(*descriptors.columns)
    numbered = numbered.withColumn("filter", F.monotonically_increasing_id())
    rows = numbered.select("interface", "filter", F.explode(_required(descriptors)).alias("id"))
    if tags is None:
        named = rows.withColumn("name", _made_up_name())
    else:
        named = rows.join(tags.select("id", "tag"), "id", "left")
        named = named.withColumn("name", F.coalesce(F.col("tag"), _made_up_name()))
    return named.select("interface", "filter", "name", F.lit("#").alias("op"))


def _required(descriptors: DataFrame) -> Column:
    """Return the tags of a descriptor, and its tree as -1, -2 …, which is no tag's number."""
    if "tree" not in descriptors.columns:
        return F.col("tags")
    tree = F.when(F.col("tree").isNull(), F.array().cast("array<int>")).otherwise(F.array(-1 - F.col("tree")))
    return F.concat("tags", tree)


def _made_up_name() -> Column:
    number = F.abs("id").cast("string")
    return F.when(F.col("id") < 0, F.concat(F.lit(TREE), number)).otherwise(F.concat(F.lit(UNNAMED), number))
