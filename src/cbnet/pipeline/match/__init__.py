"""Matching of batches and streams of records against compiled tables."""
