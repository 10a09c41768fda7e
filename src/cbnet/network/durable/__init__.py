"""Durable subscriptions, kept by their home router while clients are away, and acknowledged publishing."""
