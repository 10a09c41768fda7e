"""Steps of traced requests and replies, carried in their frames: routers keep no state per request."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from cbnet.network.protocol.fields import MAX_STEPS
from cbnet.network.protocol.frames import NoItem, ReplyFrame, Request, StepField

PullMessage = TypeVar("PullMessage", Request, ReplyFrame, NoItem)
REPLY_STEP = "reply received"  # the step of every router on the path of a reply
_MAX_LENGTH = 100


def with_step(frame: PullMessage, router: str, what: str) -> PullMessage:
    """Return a frame with a router's step appended, if it is traced."""
    before: list[StepField] | None = frame.steps
    if before is None or len(before) >= MAX_STEPS:
        return frame
    text = what if len(what) <= _MAX_LENGTH else what[: _MAX_LENGTH - 1] + "…"
    return replace(frame, steps=before + [StepField(router, text)])  # noqa: RUF005
