"""Live delivery of messages to HTTP clients: event streams and WebSockets."""
