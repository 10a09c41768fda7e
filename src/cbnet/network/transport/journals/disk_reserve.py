"""Reserve of a journal on its disk: space for acknowledgements and removals once the disk is full.

    whole ──► the disk is full: released ──► the disk has room for two reserves: whole again
                                └─ no messages are accepted; what was accepted before, and all else, is written ─┘

The reserve is a file beside the journal that takes real space. Without it a full disk could not be emptied: to remove
messages, too, SQLite first writes to its log. Once the journal has written what was accepted, acknowledgements and
removals need almost no further space: they reuse that of its log and of removed messages.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

RESERVE_BYTES: Final = 1 << 24
_BLOCK: Final = bytes(1 << 20)


class DiskReserve:
    """The reserve of one journal."""

    def __init__(self, path: Path, size: int = RESERVE_BYTES) -> None:
        self._path = path
        self._size = size
        self.is_whole = False

    def fill(self, *, spare: int = 0) -> bool:
        """Take the space if the disk has it, and so much beyond it; return whether the reserve is whole."""
        if self.is_whole:
            return True
        try:
            if not self._is_present() and shutil.disk_usage(self._path.parent).free >= self._size + spare:
                self._write()
            self.is_whole = self._is_present()
        except OSError:
            self.release()
        return self.is_whole

    def release(self) -> bool:
        """Give the space back to the disk; return whether there was any."""
        self.is_whole = False
        with suppress(OSError):
            self._path.unlink()
            return True
        return False

    def refill(self) -> bool:
        """Take the space again if the disk then has room for messages."""
        return self.fill(spare=self._size)

    def _is_present(self) -> bool:
        return self._path.exists() and self._path.stat().st_size == self._size

    def _write(self) -> None:
        with self._path.open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, self._size)
            else:
                for start in range(0, self._size, len(_BLOCK)):
                    file.write(_BLOCK[: self._size - start])
