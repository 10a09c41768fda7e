"""Experiments of [2003], Forwarding in a Content-Based Network."""
