"""Web: what do users of the active Web subscribe to? The tags of what they bookmark [2014 §4.2.1]."""

from __future__ import annotations

from pyspark.sql import DataFrame

from cbnet.pipeline.derive.cleaning import Cleaning
from cbnet.pipeline.derive.derivation import Derived, one_for_each
from cbnet.pipeline.derive.derivation_counts import Yield


def web_subscriptions(bookmarks: DataFrame, cleaning: Cleaning | None = None) -> Derived:
    """Derive a subscription from each bookmark, given in the schema TAGGED, that has tags."""
    told = Yield("web", "bookmarks", "subscriptions")
    return one_for_each(bookmarks, cleaning or Cleaning(), told, "subscription")
