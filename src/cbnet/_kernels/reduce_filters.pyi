from typing import Any

def find_covered(
    words: Any,
    offsets: Any,
    targets: Any,
    order: Any,
    text_data: Any,
    text_offsets: Any,
    set_members: Any,
    set_offsets: Any,
    covered_by: Any,
) -> None: ...
