"""Derivation of descriptors by application: web, blog, video, social [2014 §4.2.1].

Users of social networks subscribe to the tags of links posted by the users they follow. Only tweets with hashtags and a
link count. All hashtags seen with a link, by anybody, describe it, and so describe the interest of everybody who
tweeted it.

    ann: a b link1   bob: c link1   ─►   ann and bob: a b c   ─►   their followers: a b c
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812, Spark's usual name

from cbnet.pipeline.derive.blogs import blog_subscriptions, documents_of_counts, documents_of_posts
from cbnet.pipeline.derive.cleaning import Cleaning
from cbnet.pipeline.derive.derivation import Derivation, DerivationCounts, clean_rows, derive_by_user, derive_per_row
from cbnet.pipeline.derive.topics import TopicModel
from cbnet.pipeline.spark.observed_counts import ObservedCounts


def derive(
    kind: str,
    traces: Sequence[DataFrame],
    *,
    authors: DataFrame | None = None,
    follows: DataFrame | None = None,
    cleaning: Cleaning | None = None,
    topics: TopicModel | None = None,
) -> Derivation:
    """Derive the descriptors of an application of one of the four kinds from its traces.

    traces: TAGGED; for "blog" POSTS or COUNTS. authors: PAIRS, for "blog". follows: FOLLOWS, for "social".
    """
    cleaning = cleaning or Cleaning()
    if kind == "blog":
        return blog_subscriptions(_union([_documents(trace, cleaning) for trace in traces]), authors, topics)
    if kind == "social":
        return social_subscriptions(_union(traces), follows, cleaning)
    return {"web": web_subscriptions, "video": video_offers}[kind](_union(traces), cleaning)


def web_subscriptions(bookmarks: DataFrame, cleaning: Cleaning | None = None) -> Derivation:
    """Derive a subscription from each bookmark (TAGGED) that has tags."""
    counts = DerivationCounts("web", "bookmarks", "subscriptions")
    return derive_per_row(bookmarks, cleaning or Cleaning(), counts, "subscription")


def video_offers(videos: DataFrame, cleaning: Cleaning | None = None) -> Derivation:
    """Derive an offer from each uploaded video (TAGGED) that has keywords."""
    return derive_per_row(videos, cleaning or Cleaning(), DerivationCounts("video", "videos", "offers"), "offer")


def _documents(trace: DataFrame, cleaning: Cleaning) -> DataFrame:
    return (documents_of_posts if "text" in trace.columns else documents_of_counts)(trace, cleaning)


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(DataFrame.unionByName, frames)


def social_subscriptions(
    tweets: DataFrame, follows: DataFrame | None = None, cleaning: Cleaning | None = None
) -> Derivation:
    """Derive the subscriptions of followers from tweets (TAGGED) and followers (FOLLOWS).

    Without `follows` the subscriptions are those of the authors, which is what the paper counts.
    """
    cleaning = cleaning or Cleaning()
    described, observed = _described(tweets, cleaning)
    if follows is not None:
        # For a follower, equal tag sets of an author are one subscription, whatever their links.
        described = described.dropDuplicates(["user", "tags"]) if cleaning.duplicates else described
        authors = follows.select("follower", "author")
        described = described.join(authors, described.user == authors.author)
        described = described.select(F.col("follower").alias("user"), "tags", "raw_tags")
    counts = DerivationCounts("social", "tweets", "subscriptions")
    return derive_by_user(described, counts, "subscription", cleaning.duplicates, observed)


def _described(tweets: DataFrame, cleaning: Cleaning) -> tuple[DataFrame, ObservedCounts]:
    """Return a row of user, tags and `raw_tags` for each tweet that counts, with all tags of its link."""
    counts = F.col("item").isNotNull() & (F.size("tags") > 0)
    observed = ObservedCounts(
        clean_rows(tweets, cleaning), read=F.count(F.lit(1)), tags_read=F.sum("raw_tags"), kept=F.count_if(counts)
    )
    # A window instead of a self-join, which would clean all tweets twice. A link is one task, on disk if needed, with
    # its tags in memory: 25 s of a processor per million tweets of one link with 30 tags.
    all_tags = F.flatten(F.collect_set("tags").over(Window.partitionBy("item")))
    tags = F.array_sort(F.array_distinct(all_tags)).alias("tags")
    return observed.rows.where(counts).select("user", tags, "raw_tags"), observed
