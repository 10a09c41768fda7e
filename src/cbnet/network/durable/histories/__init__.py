"""The history of a router, and what reads it: searches and replay subscriptions."""
