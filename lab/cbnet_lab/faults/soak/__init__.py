"""The soak test: a month of failures in simulated time, every delivery checked."""
