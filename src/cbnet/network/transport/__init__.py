"""Transport: TCP and TLS connections, send queues, back-pressure, fair scheduling."""
