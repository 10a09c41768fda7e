from collections.abc import Callable
from typing import Any

class PackedShapes:
    def __init__(self, arrays: dict[str, Any], numbers: int, strings: int) -> None: ...
    def contains(self, wide: int, narrow: int) -> bool | None: ...

def drop_contained(
    shapes: PackedShapes,
    words: Any,
    asked: Any,
    had: Any,
    filed: Any,
    is_loose: Any,
    order: Any,
    alive: Any,
    decide: Callable[[int, int], bool],
) -> None: ...
def uncommon_rows(words: Any, offsets: Any, uncommon: Any) -> list[int]: ...
