"""Sizes of forwarding tables: entries, bytes, disjunction advantage."""
