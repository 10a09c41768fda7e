"""The stages of a run, one module for each group."""
