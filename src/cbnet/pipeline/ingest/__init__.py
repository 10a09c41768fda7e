"""Traces, read from files of many formats into rows, with rejected rows counted."""
