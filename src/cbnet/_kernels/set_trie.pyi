from typing import Any

def drop_covered(groups: Any, offsets: Any, numbers: Any, masks: Any, order: Any, left: Any) -> None: ...
def find_covered(
    groups: Any,
    offsets: Any,
    numbers: Any,
    masks: Any,
    asked_groups: Any,
    asked_offsets: Any,
    asked_numbers: Any,
    largest: Any,
    covered: Any,
) -> None: ...
def find_tops(
    groups: Any,
    offsets: Any,
    numbers: Any,
    place_offsets: Any,
    places: Any,
    asked_groups: Any,
    asked_offsets: Any,
    asked_numbers: Any,
    asked_place_offsets: Any,
    asked_places: Any,
    largest: Any,
    minima: Any,
    tops: Any,
    firsts: Any,
    lasts: Any,
) -> None: ...
def number_rows(groups: Any, offsets: Any, numbers: Any, firsts: Any) -> None: ...
