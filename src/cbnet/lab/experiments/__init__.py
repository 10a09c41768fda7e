"""Experiments: what do the papers' figures and tables show, run anew? One file for each; results are tidy tables."""
