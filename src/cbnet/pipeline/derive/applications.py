"""Derivation of descriptors by application: web, blog, video, social [2014 §4.2.1]."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame

from cbnet.pipeline.derive.blogs import blog_subscriptions
from cbnet.pipeline.derive.cleaning import Cleaning
from cbnet.pipeline.derive.derivation import Derivation, derive_per_row
from cbnet.pipeline.derive.derivation_counts import DerivationCounts
from cbnet.pipeline.derive.documents import documents_of_counts, documents_of_posts
from cbnet.pipeline.derive.social import social_subscriptions
from cbnet.pipeline.derive.topics import TopicModel


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
