"""Durable publishing and subscriptions of a client."""
