"""Runs under faults: one record of what happened, one checker of it, and one driver of faults."""
