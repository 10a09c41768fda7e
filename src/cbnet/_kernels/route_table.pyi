from collections.abc import Callable

_Branches = list[tuple[int | None, int, int | None]]

class RouteTable:
    def __init__(self, describe: Callable[[int, int, int], _Branches | None], places: dict[int, int]) -> None: ...
    def clear(self) -> None: ...
