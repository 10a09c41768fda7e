"""Pull steps: which way did a traced request take, and its reply? Both carry it along: no router remembers anything."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from cbnet.network.protocol.fields import MAX_STEPS
from cbnet.network.protocol.frames import NoItem, ReplyFrame, Request, StepField

Traced = TypeVar("Traced", Request, ReplyFrame, NoItem)
CAME_BACK = "the reply came"  # what a router does with a reply
_LONGEST = 100  # characters


def with_step(frame: Traced, router: str, what: str) -> Traced:
    """Return a frame with what a router did added to its steps, if it is traced."""
    before: list[StepField] | None = frame.steps
    if before is None or len(before) >= MAX_STEPS:
        return frame
    said = what if len(what) <= _LONGEST else what[: _LONGEST - 1] + "…"
    return replace(frame, steps=before + [StepField(router, said)])  # noqa: RUF005
