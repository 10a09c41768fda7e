"""Commands that start, use and watch a live network."""
