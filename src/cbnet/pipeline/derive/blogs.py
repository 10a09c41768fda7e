"""Subscriptions of blog authors: the topics of more than two of their posts [2014 §4.2.1].

text ─► clean words, counted     post ─► its topics of more than 20 %
                                 author ─► topics of more than two posts ─► 10 tags of each
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.ml.feature import StopWordsRemover
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812, Spark's usual name

from cbnet.pipeline.derive.cleaning import Cleaning, clean_elements
from cbnet.pipeline.derive.derivation import Derivation, DerivationCounts
from cbnet.pipeline.derive.topics import TopicModel, Topics, find_topics
from cbnet.pipeline.ingest.list_columns import Numbers, lengths_of, rows_of, sets_with_counts
from cbnet.pipeline.schemas import COUNTS, DOCUMENTS, POSTS, record_batch
from cbnet.pipeline.spark.observed_counts import ObservedCounts

_WORD = re.compile(r"[^\W\d_]{2,}")  # two or more letters


def documents_of_posts(posts: DataFrame, cleaning: Cleaning) -> DataFrame:
    """Return the words of posts (POSTS) as DOCUMENTS, without the stop words of the language."""
    cleaning.check()
    stop_words = StopWordsRemover.loadDefaultStopWords(cleaning.language)
    parts = [part for word in stop_words for part in words_of(word)]  # "don't" is "don" here
    cleaning = msgspec.structs.replace(cleaning, stop=(*cleaning.stop, *parts))
    return posts.select(*POSTS.names).mapInArrow(partial(count_words, cleaning=cleaning), DOCUMENTS)


def documents_of_counts(counts: DataFrame, cleaning: Cleaning) -> DataFrame:
    """Return word counts (COUNTS) as DOCUMENTS without users."""
    cleaning.check()
    return counts.select(*COUNTS.names).mapInArrow(partial(clean_counts, cleaning=cleaning), DOCUMENTS)


def words_of(text: str) -> list[str]:
    """Return the words of a text, in order."""
    return _WORD.findall(text)


def count_words(batches: Iterable[pa.RecordBatch], cleaning: Cleaning) -> Iterator[pa.RecordBatch]:
    """Convert batches of user, item and text to batches of DOCUMENTS."""
    for batch in batches:
        user, item, texts = batch.columns
        lists = pa.array([words_of(text or "") for text in texts.to_pylist()], pa.list_(pa.string()))
        yield _documents(user, item, lists, np.ones(len(lists.flatten()), dtype=np.int64), cleaning)


def clean_counts(batches: Iterable[pa.RecordBatch], cleaning: Cleaning) -> Iterator[pa.RecordBatch]:
    """Convert batches of item, words and counts to batches of DOCUMENTS; words of one stem are merged."""
    for batch in batches:
        item, lists, counts = batch.columns
        weights = counts.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
        yield _documents(pa.nulls(len(item), pa.string()), item, lists, weights, cleaning)


def _documents(user: pa.Array, item: pa.Array, lists: pa.Array, weights: Numbers, cleaning: Cleaning) -> pa.RecordBatch:
    words = clean_elements(lists, cleaning)
    distinct, counts = sets_with_counts(words, rows_of(lengths_of(lists)), weights, len(lists))
    return record_batch(DOCUMENTS, user, item, distinct, counts.cast(pa.list_(pa.int32())))


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
