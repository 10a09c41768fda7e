"""Benchmarks: functions that measure rivals in one run and check their answers; they print nothing."""
