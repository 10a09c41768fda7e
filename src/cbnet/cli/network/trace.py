"""`cbnet trace`: show the path of a message through the network, as a tree.

a tree of routers, in the order in which the message passed them
├─► a neighbour it was forwarded to, with the filter of its side that matches
├─► another network that a gateway passed it to
└─╳ a neighbour it was not forwarded to, with the closest filters of its side
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cbnet.cli.console import plural, print_json, printable
from cbnet.cli.network.connection_options import ConnectionOptions
from cbnet.cli.network.pub import PAYLOAD
from cbnet.cli.options import JSON, argument, flag, option, text_or_file
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.language import Message
    from cbnet.network.client.client_inbox import Traced
    from cbnet.network.protocol.frames import Branch, Hop
Hypothetical = tuple[str, str]  # the predicate of a hypothetical subscriber, and its router


def trace(
    words: list[str] = argument(..., "NAME=VALUE | '#TAG'...", "Attributes and tags of the message, or its JSON."),
    dry: bool = flag("Deliver nothing, only report."),
    of: str | None = option(
        None, "PREDICATE", "Report whether a subscriber with this predicate would get the message."
    ),
    at: str | None = option(None, "NAME", "Router of the --of subscriber.", shown="the connected router"),
    payload: str = option("", "TEXT", PAYLOAD, name="--payload -p"),
    json: bool = JSON,
    *,
    connection: ConnectionOptions,
) -> None:
    """Publish a message and show its path: at each router, the filters that match or the closest ones.

    Example: cbnet trace price=700 --dry --of 'price < 500'
    """
    from cbnet.cli.network.message_text import parse_message
    from cbnet.language import parse
    from cbnet.network.protocol.frames import json_of

    if at is not None and of is None:
        raise InputError("--at needs --of", hint="give the subscriber's predicate with --of")
    message, data = parse_message(words), text_or_file("--payload", payload)
    if of is not None:
        parse(of)  # report errors before connecting
    with connection.connect() as client:
        traced = client.trace(message, data, is_dry=dry or of is not None, of=of, at=at or "")
        router = at or client.router
    if json:
        for hop in traced.hops:
            print_json(json_of(hop))
        print_json({"missing": traced.missing})
    else:
        print_trace(traced, message, is_dry=dry or of is not None, hypothetical=None if of is None else (of, router))


def print_trace(traced: Traced, message: Message, *, is_dry: bool, hypothetical: Hypothetical | None) -> None:
    """Print the path of a message, and the outcome."""
    first = traced.hops[0]
    print(f"message         {printable(str(message)) or '(empty)'}")
    print(f"published at    router {first.router}" + (" (dry run: nothing is delivered)" if is_dry else ""))
    if first.root:
        print(f"tree            {first.tree}, rooted at {first.root}")
    if hypothetical is not None:
        print(f"assuming        a subscriber at router {hypothetical[1]} to {hypothetical[0]}")
    print(f"\nrouter {first.router}")
    print("\n".join(map(printable, _below(first, traced, "", is_dry=is_dry))))
    print()
    if hypothetical is not None:
        print(printable(_answer(traced, message, *hypothetical)))
    print("\n".join(map(printable, _outcome(traced, is_dry=is_dry, is_hypothetical=hypothetical is not None))))


def _below(hop: Hop, traced: Traced, indent: str, *, is_dry: bool) -> Iterator[str]:
    """Yield the lines of a router and of those beyond it."""
    blocks = [[text] for text in _local(hop, is_dry=is_dry)]
    blocks += [[*_sent(hop, branch, traced, is_dry=is_dry)] for branch in hop.branches if branch.is_sent]
    blocks += [[*_passed(passed, traced, is_dry=is_dry)] for passed in hop.passed_to]
    blocks += [[text] for text in _not_sent(hop)]
    for number, (head, *rest) in enumerate(blocks, 1):
        corner, deeper = ("└", "    ") if number == len(blocks) else ("├", "│   ")
        yield f"{indent}{corner}─{head}"
        yield from (f"{indent}{deeper}{line}" for line in rest)


def _local(hop: Hop, *, is_dry: bool) -> Iterator[str]:
    """Yield the deliveries and drops at a router."""
    if hop.dropped:
        yield f"─ dropped: {hop.dropped}"
    for text in hop.hypothetical:
        yield f"─ assuming {text}"
    for text in hop.delivered:
        yield f"─ {'would be delivered' if is_dry else 'delivered'} to {text}"
    for text in hop.passed_over:
        yield f"─ not {'delivered ' * (not is_dry)}to {text}"
    for text in hop.missed:
        yield f"─ no match for {text}"


def _sent(hop: Hop, branch: Branch, traced: Traced, *, is_dry: bool) -> Iterator[str]:
    """Yield a neighbour that got the message, the reason, and the lines of that neighbour."""
    from cbnet.network.protocol.fields import NOT_KNOWN

    reason = NOT_KNOWN if branch.why == [NOT_KNOWN] else f"matches {'; '.join(branch.why)}"
    yield f"► router {branch.neighbour} ({plural(branch.routers, 'router')} on its side): {reason}"
    yield from _beyond((hop.network, hop.router, branch.neighbour), traced, is_dry=is_dry)


def _passed(passed: Branch, traced: Traced, *, is_dry: bool) -> Iterator[str]:
    """Yield a network that a gateway passed the message to, the reason, and the lines of the gateway there."""
    first = next((hop for hop in traced.hops if (hop.network, hop.came_from) == (passed.neighbour, "")), None)
    by = "" if first is None else f", router {first.router}"
    yield f"► network {passed.neighbour}{by}: matches {'; '.join(passed.why)}"
    yield from _beyond((passed.neighbour, "", "" if first is None else first.router), traced, is_dry=is_dry)


def _beyond(link: tuple[str, str, str], traced: Traced, *, is_dry: bool) -> Iterator[str]:
    """Yield the lines of the router that a message reached: its network, the router before, and its own name."""
    beyond = next((each for each in traced.hops if (each.network, each.came_from, each.router) == link), None)
    if beyond is None:
        yield "└── no report"
    else:
        yield from _below(beyond, traced, "", is_dry=is_dry)


def _not_sent(hop: Hop) -> Iterator[str]:
    """Yield the neighbours that did not get the message, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for branch in hop.branches:
        if not branch.is_sent and branch.neighbour != hop.came_from:
            reasons.setdefault(_reason(branch), []).append(f"{branch.neighbour} ({plural(branch.routers, 'router')})")
    for reason, neighbours in reasons.items():
        yield f"╳ not to {', '.join(neighbours)}: {reason}"


def _reason(branch: Branch) -> str:
    from cbnet.network.protocol.fields import LINK_DOWN, NOT_KNOWN

    if branch.why in ([LINK_DOWN], [NOT_KNOWN]):
        return branch.why[0]
    return "no filter matches" + (f"; closest: {'; '.join(branch.why)}" if branch.why else "")


def _outcome(traced: Traced, *, is_dry: bool, is_hypothetical: bool) -> Iterator[str]:
    """Yield the outcome in words."""
    reached = [hop for hop in traced.hops if hop.delivered]
    routers = [f"router {hop.router}" + (f" in {hop.network}" if hop.network else "") for hop in reached]
    start = "apart from this subscriber, " if is_hypothetical else ""
    if routers:
        verb = "it would be delivered" if is_dry else "it was delivered"
        yield f"{start}{verb} to subscriptions at {', '.join(routers)}"
    else:
        yield f"{start}no reachable subscription matches it"
    if traced.missing:
        yield f"no report from {', '.join(traced.missing)}: the path from there is unknown"


def _answer(traced: Traced, message: Message, predicate: str, router: str) -> str:
    """Return whether a hypothetical subscriber gets the message, and why."""
    from cbnet.language import parse

    subscriber = f"a subscriber at router {router} with {predicate}"
    arrived = any(hop.router == router and not (hop.dropped or hop.network) for hop in traced.hops)
    if parse(predicate).matches(message):
        return f"yes: {subscriber} gets it" if arrived else f"no: it does not reach router {router}"
    failure = next((text for hop in traced.hops for text in hop.hypothetical), "")
    return f"no: {subscriber} does not get it" + (f": {failure.partition(': ')[2]}" if failure else "")
