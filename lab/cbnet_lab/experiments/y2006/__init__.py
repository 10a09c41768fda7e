"""Experiments of [2006], Understanding Content-Based Routing Schemes."""
