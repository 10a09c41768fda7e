"""The HTTP and WebSocket door of a router: publish, subscribe, request, trace, and its health and metrics."""
