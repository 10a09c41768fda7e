"""Durable subscriptions: their consumers, deliveries, dead letters, and operations on stored messages."""
