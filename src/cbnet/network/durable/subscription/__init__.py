"""A durable subscription at its home, and the clients that share it."""
