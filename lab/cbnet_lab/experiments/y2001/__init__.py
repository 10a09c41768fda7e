"""Experiments of [2001], Fast Forwarding for Content-Based Networking."""
