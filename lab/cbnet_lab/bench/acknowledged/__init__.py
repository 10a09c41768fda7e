"""Acknowledged publishing beside plain publishing, and beside JetStream."""
