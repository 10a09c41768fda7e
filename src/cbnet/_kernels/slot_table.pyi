from collections.abc import Callable

CLIENT: int
SOURCES: int
INITIAL: int
PYTHON: int

class SlotTable:
    def __init__(self, describe: Callable[[int], tuple[int, int, int]], places: dict[int, int]) -> None: ...
    def forget(self, slot: int) -> None: ...
