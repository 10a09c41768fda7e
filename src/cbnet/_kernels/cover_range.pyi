from typing import Any

class CoverRange:
    value: int
    def __init__(self, kind: int, flags: int, low: Any, high: Any, members: int, text: Any, value: int) -> None: ...

def range_of(op: int, kind: int, value: Any) -> CoverRange | None: ...
