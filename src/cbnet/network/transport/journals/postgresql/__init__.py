"""Journals of homes in PostgreSQL databases."""
