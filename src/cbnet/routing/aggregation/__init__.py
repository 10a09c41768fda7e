"""Filters of several sources, and their reduced union for each target, kept up to date [2003 §3, 2014 §3.2]."""
