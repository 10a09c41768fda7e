"""The state of routers, as clients see it."""
