"""Trace output: how is the way of a message shown to somebody who has never seen the network?

a tree of routers, in the order in which the message passed them
├─► where it was sent on, and who beyond wants it by which filter
└─╳ where it was not, and what came closest
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from cbnet.language import Message
    from cbnet.network.client.async_client import Traced
    from cbnet.network.protocol.frames import Branch, Hop

Supposed = tuple[str, str]  # a predicate, and the router of who asks for it


def trace_row(hop: Hop) -> dict[str, Any]:
    """Return a hop as an object."""
    names = ("router", "came_from", "hops", "dropped", "delivered", "missed", "supposed")
    row = {name: getattr(hop, name) for name in names}
    branches = [{name: getattr(branch, name) for name in branch.__struct_fields__} for branch in hop.branches]
    return {**row, "branches": msgspec.to_builtins(branches)}


def print_trace(traced: Traced, message: Message, *, is_dry: bool, supposed: Supposed | None) -> None:
    """Print the way of a message, and what came of it."""
    first = traced.hops[0]
    print(f"the message     {str(message) or '(empty)'}")
    print(f"published at    router {first.router}" + (", as a dry run: nothing is delivered" if is_dry else ""))
    if supposed is not None:
        print(f"as if           a subscriber at router {supposed[1]} asked for {supposed[0]}")
    print(f"\nrouter {first.router}")
    print("\n".join(_below(first, traced, "", is_dry=is_dry)))
    print()
    if supposed is not None:
        print(_about(traced, message, *supposed))
    print("\n".join(_verdict(traced, is_dry=is_dry, is_supposed=supposed is not None)))


def _below(hop: Hop, traced: Traced, indent: str, *, is_dry: bool) -> Iterator[str]:
    """Yield what happened at a router, and beyond it."""
    blocks = [[text] for text in _here(hop, is_dry=is_dry)]
    blocks += [[*_sent(hop, branch, traced, is_dry=is_dry)] for branch in hop.branches if branch.is_sent]
    blocks += [[text] for text in _not_sent(hop)]
    for number, (head, *rest) in enumerate(blocks, 1):
        corner, deeper = ("└", "    ") if number == len(blocks) else ("├", "│   ")
        yield f"{indent}{corner}─{head}"
        yield from (f"{indent}{deeper}{line}" for line in rest)


def _here(hop: Hop, *, is_dry: bool) -> Iterator[str]:
    """Yield what a router itself did with the message."""
    if hop.dropped:
        yield f"─ dropped: {hop.dropped}"
    for text in hop.supposed:
        yield f"─ as if there were {text}"
    for text in hop.delivered:
        yield f"─ {'would be delivered' if is_dry else 'delivered'} to {text}"
    for text in hop.missed:
        yield f"─ not for {text}"


def _sent(hop: Hop, branch: Branch, traced: Traced, *, is_dry: bool) -> Iterator[str]:
    """Yield to which neighbour it was sent and why, and what happened there."""
    more = f" and {branch.wanting - len(branch.toward)} more" if branch.wanting > len(branch.toward) else ""
    yield f"► router {branch.neighbour}: wanted by {'; '.join(branch.why)}{more}"
    way = (hop.router, branch.neighbour)
    beyond = next((each for each in traced.hops if (each.came_from, each.router) == way), None)
    if beyond is None:
        yield "└── it has not reported"
    else:
        yield from _below(beyond, traced, "", is_dry=is_dry)


def _not_sent(hop: Hop) -> Iterator[str]:
    """Yield to which neighbours it was not sent, and what kept it from going on; those of one reason together."""
    found: dict[str, list[str]] = {}
    for branch in hop.branches:
        if not branch.is_sent and branch.neighbour != hop.came_from:
            found.setdefault(_why_not(branch), []).append(branch.neighbour)
    for why, neighbours in found.items():
        yield f"╳ not to {', '.join(neighbours)}: {why}"


def _why_not(branch: Branch) -> str:
    if branch.wanting:
        return f"wanted by {', '.join(branch.toward)}, but the link is gone"
    if branch.why == ["nobody is reached by this way"]:
        return "messages from its source take other ways"
    return "nobody there or beyond wants it" + (f"; closest: {'; '.join(branch.why)}" if branch.why else "")


def _verdict(traced: Traced, *, is_dry: bool, is_supposed: bool) -> Iterator[str]:
    """Yield what came of it, in words."""
    routers = [hop for hop in traced.hops if hop.delivered]
    verb = ("apart from that, " if is_supposed else "") + ("it would be delivered" if is_dry else "it was delivered")
    if routers:
        yield f"{verb} to subscriptions at {', '.join('router ' + hop.router for hop in routers)}"
    else:
        yield f"{verb} to nobody: no subscription that can be reached matches it"
    if traced.missing:
        yield f"no report came from {', '.join(traced.missing)}: what happened there and beyond is not known"


def _about(traced: Traced, message: Message, predicate: str, router: str) -> str:
    """Return whether a supposed subscriber gets a message, and why."""
    from cbnet.language import parse

    who = f"a subscriber at router {router} with {predicate}"
    arrived = any(hop.router == router and not hop.dropped for hop in traced.hops)
    if parse(predicate).matches(message):
        return f"yes: {who} gets it" if arrived else f"no: it does not reach router {router}"
    said = next((text for hop in traced.hops for text in hop.supposed), "")
    return f"no: {who} does not get it" + (f": {said.partition(': ')[2]}" if said else "")
