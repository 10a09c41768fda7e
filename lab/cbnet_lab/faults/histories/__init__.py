"""Histories of acknowledged publishing under faults, in simulated time and over real processes, and their check."""
