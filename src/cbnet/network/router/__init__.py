"""The router: an I/O-free state machine, its clients, its status, and gateways."""
