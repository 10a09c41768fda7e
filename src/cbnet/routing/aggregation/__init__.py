"""Filters of several sources, and their reduced union for each target, kept up to date [2003 §3, 2014 §3.2].

Used by live routers, whose tables equal those that `Interests` computes for a quiet network. Folding needs no tree tags
here, since a filter occurs in the match table once, for the set of its sources (`match_slots`); the paper's tree tags
are in `multitree.folding`.
"""
