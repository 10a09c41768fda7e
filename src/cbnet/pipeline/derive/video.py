"""Video: what do users offer to whoever asks? The keywords of the videos that they upload [2014 §4.2.1]."""

from __future__ import annotations

from pyspark.sql import DataFrame

from cbnet.pipeline.derive.cleaning import Cleaning
from cbnet.pipeline.derive.derivation import Derived, one_for_each
from cbnet.pipeline.derive.derivation_counts import Yield


def video_offers(videos: DataFrame, cleaning: Cleaning | None = None) -> Derived:
    """Derive an offer from each video, given in the schema TAGGED, that has keywords."""
    return one_for_each(videos, cleaning or Cleaning(), Yield("video", "videos", "offers"), "offer")
