"""Benchmarks of live networks of router processes."""
