"""Benchmarks of matching on Spark, beside plain Spark SQL."""
