"""Runs under faults: one record of events, one checker of records, and one driver of faults."""
