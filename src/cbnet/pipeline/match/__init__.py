"""Matching of batches and streams of records against compiled tables; `cbnet.spark` is the public name."""
