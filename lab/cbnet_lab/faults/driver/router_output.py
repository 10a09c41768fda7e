"""Standard error of router processes: log lines, and the tracebacks of exceptions, each of which breaks a promise."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from cbnet_lab.faults.record import CompareEvent

_MARK: Final = "Traceback (most recent call last)"


class RouterOutput(ExitStack):
    """A file for the standard error of routers, which is shown and removed at the end of the `with` block."""

    def __init__(self, *, is_shown: bool = True) -> None:
        super().__init__()
        self._path = Path(self.enter_context(TemporaryDirectory(prefix="cbnet-output-"))) / "stderr"
        self.file = self.enter_context(self._path.open("wb"))
        self._reported = 0  # tracebacks
        if is_shown:
            self.callback(lambda: sys.stderr.write(self._text()))

    def _text(self) -> str:
        return self._path.read_text(errors="replace")

    def tracebacks(self) -> list[str]:
        """Return the exception of each traceback that routers have written."""
        lines = self._text().splitlines()
        found = [lines[number:] for number, line in enumerate(lines) if _MARK in line]
        # the line after a traceback that names the exception; the first line, if that has the whole traceback
        return [next((each for each in own[1:] if each and not each[0].isspace()), own[0]) for own in found]

    def event(self, at: float) -> CompareEvent:
        """Return an event that is a violation if routers have written tracebacks since the last one."""
        found = self.tracebacks()
        new, self._reported = found[self._reported :], len(found)
        return CompareEvent(at, "crashed", "exceptions of routers", new, [])
