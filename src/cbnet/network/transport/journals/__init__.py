"""Journals on disk: SQLite, the thread that writes, the tables, and the conversion of journals of 0.2."""
