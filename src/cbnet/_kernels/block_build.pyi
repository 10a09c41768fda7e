from typing import Any

def choose_intervals(
    words: Any,
    costs: Any,
    offsets: Any,
    rows: Any,
    presence: Any,
    scale: float,
    keys: Any,
    lows: Any,
    highs: Any,
    chances: Any,
    passing: Any,
    filed: Any,
) -> None: ...
def middles_of(bounds: Any, dimensions: Any, lows: Any, highs: Any, middles: Any) -> None: ...
def choose_columns(
    words: Any,
    costs: Any,
    offsets: Any,
    rows: Any,
    presence: Any,
    scale: float,
    entries: Any,
    share: float,
    most: float,
    columns: Any,
    firsts: Any,
) -> int: ...
def fill_rows(
    words: Any,
    offsets: Any,
    rows: Any,
    dimension_of: Any,
    bounds: Any,
    entries: Any,
    columns: Any,
    firsts: Any,
    bits: Any,
) -> None: ...
