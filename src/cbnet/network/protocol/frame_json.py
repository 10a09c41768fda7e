"""Frames and their parts as JSON objects."""

from __future__ import annotations

from typing import Any

import msgspec


def json_of(value: Any) -> Any:
    """Return a frame, or any part of one, with objects in place of structs."""
    if isinstance(value, msgspec.Struct):
        return {name: json_of(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {key: json_of(each) for key, each in value.items()}
    if isinstance(value, list):
        return [json_of(each) for each in value]
    return value
