from numpy import float64, int32, int64, uint64
from numpy.typing import NDArray

def draw_users(
    seed: int,
    stream: int,
    common_stream: int,
    users: NDArray[uint64],
    counts: NDArray[int64],
    one_tag: NDArray[float64],
    sizes: NDArray[float64],
    law: NDArray[float64],
    limit: int,
    last: int,
    offsets: NDArray[int64],
    tags: NDArray[int32],
) -> None: ...
