from collections.abc import Callable

Branches = list[tuple[int | None, int, int | None]]

class RouteTable:
    def __init__(self, describe: Callable[[int, int, int], Branches | None], places: dict[int, int]) -> None: ...
    def clear(self) -> None: ...
