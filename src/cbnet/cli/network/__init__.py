"""Commands that run, use and watch a live network."""
