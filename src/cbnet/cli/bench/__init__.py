"""Benchmarks: `cbnet bench`."""
