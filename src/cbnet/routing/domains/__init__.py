"""Routing between domains: gateways and summaries [2014 §3.1]."""
