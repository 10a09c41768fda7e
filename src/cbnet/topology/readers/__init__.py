"""Readers of graphs: files, and specifications such as ring:6."""
