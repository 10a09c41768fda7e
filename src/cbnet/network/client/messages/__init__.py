"""Messages of clients, in frames and in JSON."""
