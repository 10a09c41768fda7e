"""Strings of workloads: words of a dictionary, and terms with their frequencies."""
