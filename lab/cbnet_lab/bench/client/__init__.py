"""The benchmark of clients: processor time of the client's process per message."""
