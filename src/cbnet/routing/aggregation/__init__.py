"""Filters of several sources, and their reduced union for each target, kept up to date [2003 §3, 2014 §3.2].

Live routers use it: their tables are those that `Interests` computes for a network at rest. Folding needs no tags of
trees here, since a filter is in the match table once, for the set of its sources (`match_slots`); the paper's tags are
in `multitree.folding`.
"""
