from typing import Any

from cbnet._kernels.pivot_table import PivotIndex

class LiveMatcher:
    matches: int
    timed: int
    ns: int
    within: list[int]
    def __init__(self, table: Any, bounds: tuple[int, ...] = ()) -> None: ...
    def match_frame(self, data: bytes) -> list[int] | None: ...

class RightMatcher:
    def __init__(self, index: PivotIndex | None, max_characters: int | None) -> None: ...
    def allows_frame(self, data: bytes) -> bool | None: ...
