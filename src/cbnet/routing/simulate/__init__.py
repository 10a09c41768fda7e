"""Simulated deliveries, and verdicts on them [2006 §2.3]."""
