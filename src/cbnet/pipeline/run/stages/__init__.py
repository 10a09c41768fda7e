"""Stages: which steps has a run, what does each read, and when must it run again? One file for each group of them."""
