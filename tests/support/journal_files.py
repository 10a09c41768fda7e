"""Journals in files: their damage, those of version 0.2, and a disk of a network in memory that has one."""

import sqlite3
from zlib import crc32

import msgspec

from cbnet.network.durable.home_log.journal import (
    Append,
    Committed,
    Entry,
    JournalStatistics,
    OpenJournal,
    Read,
    SaveCursor,
    SavedSubscription,
    SaveSet,
    SaveSubscription,
    Stalled,
    Stretch,
)
from cbnet.network.protocol.frames import DurableLimits
from cbnet.network.transport.journals.sqlite_journal import SqliteJournal

PAGE = 4_096  # bytes


def opened(id, *, position=1, **limits):
    """Return the operations that add a subscription, and a set with the same number that has only this one."""
    saved = SavedSubscription(id, "", f"s{id}", "x > 0", DurableLimits(**limits))
    return [SaveSubscription(saved), SaveCursor(id, (Stretch(position, 1, 0),)), SaveSet(id, (id,))]


def stored(position, content=b"content", *, set_id=1):
    """Return the operation that adds a message to the log."""
    return Append([Entry(position, set_id, 1.5, "a", 2**61, position, content)])


def read(journal, *positions):
    """Return the messages at these positions of a journal."""
    return [*journal.read(Read(1, positions)).entries]


OLD_TABLES = """
CREATE TABLE meta (router TEXT, id INTEGER, checksum INTEGER);
CREATE TABLE subscriptions (id INTEGER PRIMARY KEY, definition BLOB, checksum INTEGER);
CREATE TABLE offsets (id INTEGER PRIMARY KEY, next INTEGER, checksum INTEGER);
CREATE TABLE losses (id INTEGER PRIMARY KEY, lost INTEGER, pending BLOB, checksum INTEGER);
CREATE TABLE entries (key INTEGER PRIMARY KEY, time REAL, source TEXT, life INTEGER, number INTEGER, content BLOB, \
checksum INTEGER);
CREATE TABLE windows (publisher INTEGER PRIMARY KEY, floor INTEGER, seen BLOB, checksum INTEGER);
CREATE TABLE homes (owner TEXT PRIMARY KEY, record BLOB, checksum INTEGER) WITHOUT ROWID;
PRAGMA user_version = 4;
"""


class OldJournal:
    """A journal as version 0.2 writes it: each message once for each subscription."""

    def __init__(self, folder, router="a", id=77):
        folder.mkdir(exist_ok=True)
        self.path = folder / "journal.sqlite"
        self._file = sqlite3.connect(self.path, isolation_level=None)
        self._file.execute("PRAGMA auto_vacuum = INCREMENTAL")
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.executescript(OLD_TABLES.replace("\\\n", ""))
        self.row("meta", router, id)

    def row(self, table, *row):
        """Add a row with its checksum."""
        marks = ", ".join("?" * (len(row) + 1))
        checksum = crc32(msgspec.msgpack.encode((table, *row)))
        self._file.execute(f"INSERT INTO {table} VALUES ({marks})", (*row, checksum))

    def subscription(self, id, following, **members):
        """Add a subscription; following: its next offset."""
        limits = members.pop("limits", {})
        definition = {"account": "", "name": f"s{id}", "predicate": "x > 0", "start": 0, "since": 0.0, **members}
        saved = SavedSubscription(id, limits=DurableLimits(**limits), **definition)
        self.row("subscriptions", id, msgspec.msgpack.encode(saved))
        self.row("offsets", id, following)

    def entry(self, id, offset, time, number, content, source="b", life=9):
        """Add a message of a subscription."""
        row = (time, source, life, number, content)
        checksum = crc32(msgspec.msgpack.encode((id, offset, *row)))
        self._file.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", ((id << 40) + offset, *row, checksum))

    def change(self, statement):
        """Change a row, but not its checksum."""
        assert self._file.execute(statement).rowcount == 1

    def close(self):
        """Close the file, so that a router can open it."""
        self._file.close()


def overwrite_page(journal, page):
    """Overwrite a page of an open journal, and let SQLite forget what it knows of it; page: from the end if negative."""
    journal._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with journal.path.open("r+b") as raw:
        raw.seek(page * PAGE, 2 if page < 0 else 0)
        raw.write(bytes(PAGE))
    journal._file.execute("PRAGMA shrink_memory")


def damaged(data, random):
    """Return the bytes of a file with damage at some random places."""
    data = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 4])):
        at = random.randrange(len(data))
        if random.random() < 0.3:
            at = at // PAGE * PAGE + random.randrange(100)  # in the head of a page
        size = min(random.choice([1, 1, 8, 300, PAGE]), len(data) - at)
        page = random.randrange(len(data) // PAGE) * PAGE
        changes = bytes([data[at] ^ 1 << random.randrange(8)]), random.randbytes(size), bytes(size)
        change = random.choice([*changes, bytes(data[page : page + size])])
        data[at : at + len(change)] = change
    if random.random() < 0.05:
        del data[random.randrange(PAGE, len(data)) :]
    return bytes(data)


class FileDisk:
    """The journal of a router of a network in memory, in a SQLite file."""

    def __init__(self, memory, folder, router="a"):
        self._memory = memory
        self._folder = folder
        self._router = router
        self._file = None
        self.path = folder / "journal.sqlite"
        self.is_held = True
        self.statistics = JournalStatistics()

    def start(self, on_event):
        self._on_event = on_event
        self._file = SqliteJournal(self._folder, self._router)
        try:
            return OpenJournal(self, self._file.recover())
        except BaseException:
            self.crash()
            raise

    def submit(self, operations):
        self._memory.after(0.005, lambda file=self._file: self._perform(operations, file))

    def time(self):
        return self._memory.now

    def crash(self):
        if self._file is not None:
            self._file.close()
        self._file = None

    def _perform(self, operations, file):
        if file is not self._file:
            return
        try:
            file.perform([each for each in operations if not isinstance(each, Read)])
        except sqlite3.DatabaseError as error:
            self._on_event(Stalled(str(error)))
            return
        self._on_event(Committed(1))
        for each in operations:
            if isinstance(each, Read) and file is self._file:
                self._on_event(file.read(each))
