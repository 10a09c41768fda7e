"""Experiments that reproduce the figures, tables and examples of the papers, one module each."""
