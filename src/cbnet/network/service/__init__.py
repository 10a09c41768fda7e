"""Services: configuration files, daemons, HTTP, metrics, and networks of processes."""
