from collections.abc import Callable

from cbnet._kernels.duplicate_detector import DuplicateDetector
from cbnet._kernels.frame_matching import LiveMatcher
from cbnet._kernels.route_table import LinkPlaces, RouteTable
from cbnet._kernels.slot_table import SlotTable

DONE: int
PYTHON: int
LATE: int

class FastPath:
    number: int
    has_full_batch: bool
    duplicates: DuplicateDetector
    links: LinkPlaces
    slots: SlotTable
    routes: RouteTable
    def __init__(
        self,
        name: str,
        incarnation: int,
        trees: int,
        matcher: LiveMatcher,
        holder_of: Callable[[int], tuple[int, int, int]],
        branches_of: Callable[[int, int, int], list[tuple[int | None, int, int | None]] | None],
    ) -> None: ...
    def close(self, number: int) -> None: ...
    def take_counts(self) -> list[int]: ...
    def run(
        self, number: int, data: bytes | bytearray | memoryview, start: int, end: int, slice_ns: int, most: int
    ) -> tuple[int, int]: ...
