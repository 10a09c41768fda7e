"""Output of `cbnet request`: the reply, and the path of the request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cbnet.cli.console import plural, print_json, print_note
from cbnet.network import NoReply, Reply, Timeout
from cbnet.network.client.message_text import message_line, payload_members
from cbnet.network.pull.pull_trace import REPLY_STEP

if TYPE_CHECKING:
    from cbnet.language import Message
    from cbnet.network.protocol.frames import StepField


def print_answer_json(answer: Reply | NoReply, *, is_traced: bool) -> None:
    """Print an answer as one object."""
    steps = [{"router": step.router, "what": step.what} for step in answer.steps]
    path = {"steps": steps} if is_traced else {}
    if isinstance(answer, NoReply):
        print_json({"message": None, "why": str(answer), "tried": answer.tried, "asked": answer.asked, **path})
        return
    members = {"holder": answer.holder, "cache": answer.cache or None, "age": answer.age, "asked": answer.asked}
    print_json({"message": answer.message, **payload_members(answer.payload), **members, **path})


def print_answer(answer: Reply | NoReply | Timeout, request: Message, router: str, *, is_traced: bool) -> None:
    """Print a reply, after the path of the request if it was traced."""
    if is_traced:
        print(f"request         {str(request) or '(empty)'}")
        print(f"requested at    router {router}\n")
        print("\n".join(_path(answer.steps)))
        print(f"\n{_summary(answer)}")
    if isinstance(answer, Reply):
        print(message_line(answer.message, answer.payload))
    elif isinstance(answer, NoReply) and not is_traced:
        print_note(str(answer))


def _path(steps: list[StepField]) -> Iterator[str]:
    """Yield a line for each step of the request, and one for the path of the reply."""
    forward = [step for step in steps if step.what != REPLY_STEP]
    width = max((len(step.router) for step in forward), default=0)
    for step in forward:
        yield f"router {step.router:<{width}}   {step.what}"
    back = [step.router for step in steps if step.what == REPLY_STEP]
    if back:
        yield f"the reply came back over {', '.join(back)}"


def _summary(answer: Reply | NoReply | Timeout) -> str:
    if isinstance(answer, Timeout):
        return "timeout: the request or its reply was lost, or a holder was too slow"
    if isinstance(answer, NoReply):
        return str(answer)
    if answer.cache:
        first = f"answered by the cache of router {answer.cache}, {answer.age:.1f} s old"
        return f"{first}; the item is from a holder at router {answer.holder}"
    return f"answered by a holder at router {answer.holder}; {plural(answer.asked, 'holder')} asked"
