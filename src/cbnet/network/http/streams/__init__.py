"""Messages to HTTP clients as they come: event streams and WebSockets."""
