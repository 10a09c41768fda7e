"""Commands that operate the routers of a live network."""
