"""Benchmarks of forwarding tables: matching, updates, tag tables, minimal sets."""
