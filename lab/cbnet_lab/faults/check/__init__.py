"""The checker of runs under faults: a function of the record alone."""
