"""Graphs, read from files and from specifications such as ring:6."""
