"""Damage to the file of a journal."""

PAGE = 4_096  # bytes


def overwrite_page(journal, page):
    """Overwrite a page of an open journal, and let SQLite forget what it knows of it; page: from the end if negative."""
    journal._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with journal.path.open("r+b") as raw:
        raw.seek(page * PAGE, 2 if page < 0 else 0)
        raw.write(bytes(PAGE))
    journal._file.execute("PRAGMA shrink_memory")
