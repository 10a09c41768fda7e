"""The HTTP and WebSocket server of a router: publish, subscribe, request, trace, and its health and metrics."""
