"""Runs of durable messages, published, forwarded and stored without an object for each."""
