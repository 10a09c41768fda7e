"""Forwarding of messages: duplicates, traces, and the next hops of a packet."""
