"""Status of routers, as seen by clients."""
