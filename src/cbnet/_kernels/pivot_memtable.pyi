from typing import Any

class MemtableEntry:
    target: int
    tests: frozenset[tuple[str, int, Any]]

class MemtableIndex:
    longest: int
    def add(self, target: int, tests: frozenset[tuple[str, int, Any]]) -> MemtableEntry: ...
    def remove(self, entry: MemtableEntry) -> None: ...
