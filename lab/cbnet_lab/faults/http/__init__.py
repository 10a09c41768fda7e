"""The benchmark of a router's HTTP server: many event streams and WebSockets, and one client that never reads."""
