"""Request output: how are a reply, and the way of a request, shown to somebody who has never seen the network?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cbnet.cli.console import counted, print_json, print_remark
from cbnet.cli.network.payload_text import message_line, payload_members
from cbnet.network import NoReply, Reply, Timeout
from cbnet.network.pull.pull_trace import CAME_BACK

if TYPE_CHECKING:
    from cbnet.language import Message
    from cbnet.network.protocol.frames import StepField


def print_answer_json(answer: Reply | NoReply, *, is_traced: bool) -> None:
    """Print an answer as one object."""
    steps = [{"router": step.router, "what": step.what} for step in answer.steps]
    way = {"steps": steps} if is_traced else {}
    if isinstance(answer, NoReply):
        print_json({"message": None, "why": str(answer), "tried": answer.tried, "asked": answer.asked, **way})
        return
    members = {"holder": answer.holder, "cache": answer.cache or None, "age": answer.age, "asked": answer.asked}
    print_json({"message": answer.message, **payload_members(answer.payload), **members, **way})


def print_answer(answer: Reply | NoReply | Timeout, request: Message, router: str, *, is_traced: bool) -> None:
    """Print a reply; before it, if that was asked for, the way of the request."""
    if is_traced:
        print(f"the request     {str(request) or '(empty)'}")
        print(f"requested at    router {router}\n")
        print("\n".join(_way(answer.steps)))
        print(f"\n{_verdict(answer)}")
    if isinstance(answer, Reply):
        print(message_line(answer.message, answer.payload))
    elif isinstance(answer, NoReply) and not is_traced:
        print_remark(str(answer))


def _way(steps: list[StepField]) -> Iterator[str]:
    """Yield a line for each step of the request, and one for the way of the reply."""
    there = [step for step in steps if step.what != CAME_BACK]
    width = max((len(step.router) for step in there), default=0)
    for step in there:
        yield f"router {step.router:<{width}}   {step.what}"
    back = [step.router for step in steps if step.what == CAME_BACK]
    if back:
        yield f"the reply came back over {', '.join(back)}"


def _verdict(answer: Reply | NoReply | Timeout) -> str:
    if isinstance(answer, Timeout):
        return "nothing more was heard of it: it or its reply was lost, or a holder took too long"
    if isinstance(answer, NoReply):
        return str(answer)
    if answer.cache:
        first = f"answered by the cache of router {answer.cache}, {answer.age:.1f} s old"
        return f"{first}; the item is from a holder at router {answer.holder}"
    return f"answered by a holder at router {answer.holder}; {counted(answer.asked, 'holder')} asked"
