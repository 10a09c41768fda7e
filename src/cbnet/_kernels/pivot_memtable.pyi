from typing import Any

class Entry:
    target: int
    tests: frozenset[tuple[str, int, Any]]

class RecentIndex:
    longest: int
    def add(self, target: int, tests: frozenset[tuple[str, int, Any]]) -> Entry: ...
    def remove(self, entry: Entry) -> None: ...
