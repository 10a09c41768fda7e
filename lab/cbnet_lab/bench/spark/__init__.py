"""Benchmarks of matching on Spark, compared with plain Spark SQL."""
