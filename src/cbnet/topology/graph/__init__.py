"""Graphs: edges, generators, components, and classes of nodes."""
