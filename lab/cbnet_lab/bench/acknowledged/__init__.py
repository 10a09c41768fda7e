"""Acknowledged publishing, compared with plain publishing and with JetStream."""
