"""Benchmarks of live networks of router processes, beside a broker."""
