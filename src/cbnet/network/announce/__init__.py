"""Predicates of nodes: announcement, records as tables, and the initial state of a network."""
