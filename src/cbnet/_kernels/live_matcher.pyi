from typing import Any

class LiveMatcher:
    matches: int
    timed: int
    ns: int
    within: list[int]
    def __init__(self, table: Any, bounds: tuple[int, ...] = ()) -> None: ...
    def match_frame(self, data: bytes) -> list[int] | None: ...
