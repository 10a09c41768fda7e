"""All frames of the protocol; docs/reference/protocol.md specifies their bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeVar

from cbnet.network.protocol.control_frames import *
from cbnet.network.protocol.durable_frames import *
from cbnet.network.protocol.durable_operation_frames import *
from cbnet.network.protocol.fields import Frame as Frame
from cbnet.network.protocol.fields import Part as Part
from cbnet.network.protocol.message_frames import *
from cbnet.network.protocol.operation_frames import *

Record = TypeVar("Record", LinkRecord, HomeRecord, GroupRecord)


def frame_number(kind: type[Frame]) -> int:
    """Return the number of a kind of frame."""
    number = kind.__struct_config__.tag
    assert isinstance(number, int)
    return number


def _kinds(base: type[Frame]) -> Iterator[type[Frame]]:
    """Yield the kinds below a base class; those with a number are sent."""
    for kind in base.__subclasses__():
        if isinstance(kind.__struct_config__.tag, int):
            yield kind
        yield from _kinds(kind)


FRAMES: Final = tuple(sorted(_kinds(Frame), key=frame_number))


def json_of(value: Any) -> Any:
    """Return a frame, or any part of one, with objects in place of structs."""
    if isinstance(value, Part):
        return {name: json_of(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {key: json_of(each) for key, each in value.items()}
    if isinstance(value, list):
        return [json_of(each) for each in value]
    return value
