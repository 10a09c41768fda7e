"""Subscriptions of blog authors: the topics of more than two of their posts [2014 §4.2.1].

post ─► its topics of more than 20 %     author ─► topics of more than two posts ─► 10 tags of each
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812, Spark's usual name

from cbnet.pipeline.derive.derivation import Derivation
from cbnet.pipeline.derive.derivation_counts import DerivationCounts
from cbnet.pipeline.derive.observed_counts import ObservedCounts
from cbnet.pipeline.derive.topics import TopicModel, Topics, find_topics


def blog_subscriptions(
    documents: DataFrame, authors: DataFrame | None = None, model: TopicModel | None = None
) -> Derivation:
    """Derive a subscription from each topic that an author is interested in.

    The user of a document (DOCUMENTS) is its author, unless `authors` (PAIRS) names others; a document of several
    authors is a post of each. The topics are learned here; the rest is computed by an action.
    """
    model = model or TopicModel()
    return subscriptions_to_topics(find_topics(documents, model), authors, model.posts)


def subscriptions_to_topics(topics: Topics, authors: DataFrame | None, posts: int) -> Derivation:
    """Derive a subscription for each topic of more than `posts` posts of an author (default: the document's user)."""
    written = topics.documents
    if authors is not None:
        written = authors.select("user", "item").join(written.drop("user"), "item")
    # A unique number for each post, used inside this query only.
    posted = written.select("user", "topics", F.monotonically_increasing_id().alias("post"))
    each = posted.select("user", "post", F.explode_outer("topics").alias("topic"))
    by_topic = Window.partitionBy("user", "topic")
    active = F.col("topic").isNotNull() & (F.count("topic").over(by_topic) > posts)
    each = each.repartition("user").withColumn("active", active)
    flagged = each.select(
        "user", "topic", "active",
        _is_first("user").alias("of_user"),
        _is_first("user", "post").alias("of_post"),
        _is_first("user", "topic").alias("of_topic"),
    )  # fmt: skip
    with_tags = F.broadcast(_tags_of(topics))
    joined = flagged.join(with_tags, flagged.topic == with_tags.number, "left")
    observed = ObservedCounts(
        joined,
        read=F.count_if("of_post"),
        users_read=F.count_if("of_user"),
        kept=F.count_if(F.col("of_post") & F.col("active")),
        derived=F.count_if(F.col("of_topic") & F.col("active")),
        users=F.count_if(F.col("of_user") & F.col("active")),
        tags=F.sum(F.when(F.col("of_topic") & F.col("active"), F.size("tags"))),
    )
    role = [F.lit("blog").alias("app"), F.lit("subscription").alias("role")]
    descriptors = observed.rows.where("of_topic and active").select(*role, "user", "tags")
    return Derivation(descriptors, DerivationCounts("blog", "posts", "subscriptions"), [observed])


def _is_first(*keys: str) -> Column:
    """Return whether a row is the first of its key, active rows before others."""
    within = Window.partitionBy(*keys).orderBy(F.desc("active"), "topic", "post")
    return F.row_number().over(within) == 1


def _tags_of(topics: Topics) -> DataFrame:
    spark = topics.documents.sparkSession
    return spark.createDataFrame([*enumerate(topics.tags)], "number int, tags array<string>")
