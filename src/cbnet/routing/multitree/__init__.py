"""Routing over several trees, with grouped and folded tables [2014 §3]."""
