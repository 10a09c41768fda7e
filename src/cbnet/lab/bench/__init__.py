"""Bench: how fast, compared in one run? Plain functions that measure and check; they print nothing."""
