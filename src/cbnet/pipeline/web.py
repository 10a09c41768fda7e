"""Web: what do users of the active Web subscribe to? The tags of what they bookmark [2014 §4.2.1]."""

from __future__ import annotations

from pyspark.sql import DataFrame

from cbnet.pipeline.cleaning import Cleaning
from cbnet.pipeline.derived import Derived, one_for_each
from cbnet.pipeline.yields import Yield


def web_subscriptions(bookmarks: DataFrame, cleaning: Cleaning | None = None) -> Derived:
    """Derive a subscription from each bookmark, given in the schema TAGGED, that has tags."""
    told = Yield("web", "bookmarks", "subscriptions")
    return one_for_each(bookmarks, cleaning or Cleaning(), told, "subscription")
