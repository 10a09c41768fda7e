"""Experiments of [2002], Fast Forwarding for Content-Based Networking, revised."""
