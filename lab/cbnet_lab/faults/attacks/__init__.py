"""Attacks of ordinary clients on a ring of routers, while honest clients measure what they notice."""
