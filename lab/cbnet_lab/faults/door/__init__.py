"""The benchmark of a router's HTTP door: many event streams and WebSockets, and one client that never reads."""
