"""Social: what do users of short messages subscribe to? What describes the links of those they follow [2014 §4.2.1].

Only tweets with hashtags and a link count. All hashtags seen with a link, by whomever, describe it, and so describe
the interest of everybody who tweeted it.

    ann: a b link1   bob: c link1   ─►   ann and bob: a b c   ─►   their followers: a b c
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Observation, Window
from pyspark.sql import functions as F  # noqa: N812, the name that Spark's own documents use

from cbnet.pipeline.derive.cleaning import Cleaning
from cbnet.pipeline.derive.derivation import Counted, Derived, by_user, cleaned
from cbnet.pipeline.derive.derivation_counts import Yield


def social_subscriptions(
    tweets: DataFrame, follows: DataFrame | None = None, cleaning: Cleaning | None = None
) -> Derived:
    """Derive the subscriptions of followers from tweets (TAGGED) and who follows whom (FOLLOWS).

    Without `follows` they are those of the authors themselves, which are what the paper counts.
    """
    cleaning = cleaning or Cleaning()
    described, counted = _described(tweets, cleaning)
    if follows is not None:
        # Twice the same link, or two links of the same tags, are for a follower one thing that the author is about.
        described = described.dropDuplicates(["user", "tags"]) if cleaning.duplicates else described
        authors = follows.select("follower", "author")
        described = described.join(authors, described.user == authors.author)
        described = described.select(F.col("follower").alias("user"), "tags", "given")
    told = Yield("social", "tweets", "subscriptions")
    return by_user(described, told, "subscription", cleaning.duplicates, [counted])


def _described(tweets: DataFrame, cleaning: Cleaning) -> tuple[DataFrame, Counted]:
    """Return a row of user, tags and `given` for each tweet that counts, with all tags of its link."""
    observation = Observation()
    counts = F.col("item").isNotNull() & (F.size("tags") > 0)
    rows = cleaned(tweets, cleaning).observe(
        observation,
        F.count(F.lit(1)).alias("read"),
        F.sum("given").alias("tags_read"),
        F.count_if(counts).alias("kept"),
    )
    # In a window, not in a join with itself: a link that everybody tweets needs no more memory than its tags.
    all_tags = F.flatten(F.collect_set("tags").over(Window.partitionBy("item")))
    described = rows.where(counts).select("user", F.array_sort(F.array_distinct(all_tags)).alias("tags"), "given")
    return described, (observation, ("read", "tags_read", "kept"))
