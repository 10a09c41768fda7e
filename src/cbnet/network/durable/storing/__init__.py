"""Handling of messages at a home: store, refuse or hold back, and answer."""
