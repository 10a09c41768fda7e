"""`cbnet request`: request an item by its content, and print the reply of a holder or a cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cbnet.cli.console import plural, print_json, print_note
from cbnet.cli.network.connection_options import ConnectionOptions
from cbnet.cli.options import JSON, argument, flag, option, timeout_option

if TYPE_CHECKING:
    from cbnet.language import Message
    from cbnet.network import NoReply, Reply, Timeout
    from cbnet.network.protocol.frames import StepField


def request(
    text: str = argument(..., "REQUEST", "Values and tags of the item, in quotes, joined by `and`."),
    timeout: float = timeout_option(5.0, "Timeout for the reply, in seconds."),
    max_holders: int = option(8, "N", "Maximum holders to ask, one after the other.", least=1, most=64),
    fresh: bool = flag("Accept no reply from a cache."),
    trace: bool = flag("Show the path of the request, and the holders asked."),
    json: bool = JSON,
    *,
    connection: ConnectionOptions,
) -> None:
    """Request an item with these values and tags, and print the reply.

    Example: cbnet request 'symbol = "A" and #quote' --trace
    """
    from cbnet.network import NoReply, Timeout
    from cbnet.network.protocol.request_codec import as_request

    message = as_request(text)  # report errors before connecting
    answer: Reply | NoReply | Timeout
    with connection.connect() as client:
        try:
            answer = client.request(text, timeout=timeout, max_holders=max_holders, fresh=fresh, trace=trace)
        except (NoReply, Timeout) as error:  # an answer too
            answer = error
        router = client.router
    if not json:
        _print(answer, message, router, is_traced=trace)
    elif not isinstance(answer, Timeout):
        _print_json(answer, is_traced=trace)
    if isinstance(answer, Timeout):
        raise answer


def _print_json(answer: Reply | NoReply, *, is_traced: bool) -> None:
    """Print an answer as one object."""
    from cbnet.network import NoReply
    from cbnet.network.client.message_json import reply_members
    from cbnet.network.protocol.frames import json_of

    if isinstance(answer, NoReply):
        path = {"steps": json_of(answer.steps)} if is_traced else {}
        print_json({"message": None, "why": str(answer), "tried": answer.tried, "asked": answer.asked, **path})
    else:
        print_json(reply_members(answer, is_traced=is_traced))


def _print(answer: Reply | NoReply | Timeout, request: Message, router: str, *, is_traced: bool) -> None:
    """Print a reply, after the path of the request if it was traced."""
    from cbnet.cli.network.message_text import message_line
    from cbnet.network import NoReply, Reply

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
    from cbnet.network.protocol.message_frames import REPLY_STEP

    forward = [step for step in steps if step.what != REPLY_STEP]
    width = max((len(_router(step)) for step in forward), default=0)
    for step in forward:
        yield f"router {_router(step):<{width}}   {step.what}"
    back = [_router(step) for step in steps if step.what == REPLY_STEP]
    if back:
        yield f"the reply came back over {', '.join(back)}"


def _router(step: StepField) -> str:
    return f"{step.router} in {step.network}" if step.network else step.router


def _summary(answer: Reply | NoReply | Timeout) -> str:
    from cbnet.network import NoReply, Timeout

    if isinstance(answer, Timeout):
        return "timeout: the request or its reply was lost, or a holder was too slow"
    if isinstance(answer, NoReply):
        return str(answer)
    if answer.cache:
        first = f"answered by the cache of router {answer.cache}, {answer.age:.1f} s old"
        return f"{first}; the item is from a holder at router {answer.holder}"
    return f"answered by a holder at router {answer.holder}; {plural(answer.asked, 'holder')} asked"
