"""Matching of batches and streams of records against compiled tables."""

from cbnet.pipeline.match.dataframe_matcher import match

__all__ = ["match"]
