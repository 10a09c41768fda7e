"""Journal of a router on disk: a SQLite file, and the thread that writes it."""
