"""Durable subscriptions of accounts that do not exist any more."""
