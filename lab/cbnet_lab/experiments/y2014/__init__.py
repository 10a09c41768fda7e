"""Experiments of [2014], Routing for tag-based information-centric networking."""
