"""`cbnet simulate`: how do the routing schemes deliver the same messages over the same network?"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cbnet.cli.console import AsJson, print_remark
from cbnet.cli.seeds import seed_option
from cbnet.errors import CbnetError, InputError

if TYPE_CHECKING:
    from cbnet.cli.lab.simulation_output import Row
    from cbnet.language import Message
    from cbnet.routing import Network, Scheme

    Traffic: TypeAlias = list[tuple[int, Message]]

_COUNTED = 5_000  # nodes up to which all routers are counted, and iPS is run
_MOST_MESSAGES = 1_000_000
_ALWAYS_COUNTED = ("drp", "treeheader")  # their routers have no tables to reduce
_SAMPLED = 1_000  # routers at which predicates are reduced in larger networks


def simulate(
    topology: Annotated[
        str, typer.Option("--topology", help="A file, or a generator such as powerlaw:200.", show_default=False)
    ],
    scheme: Annotated[str, typer.Option("--scheme", help="Schemes, with commas between.")] = "psf,ips,pif,drp",
    predicates: Annotated[
        Path | None,
        typer.Option(
            "--predicates", help="Predicates by node: .toml, .jsonl, .parquet or a table.", show_default=False
        ),
    ] = None,
    random: Annotated[
        str | None,
        typer.Option("--random", help="Random predicates: receivers=50,filters=3.", show_default=False),
    ] = None,
    messages: Annotated[str, typer.Option("--messages", help="How many to make, or a file of JSON Lines.")] = "100",
    senders: Annotated[
        int | None, typer.Option("--senders", help="How many random nodes send; all, if not given.")
    ] = None,
    source: Annotated[list[str] | None, typer.Option("--source", help="A node that sends; repeat it for more.")] = None,
    unicast: Annotated[
        str | None, typer.Option("--unicast", help="Ways of DRP: shortest or tree; shortest if not given.")
    ] = None,
    partition: Annotated[
        bool, typer.Option("--partition", help="DRP sends all next hops the same header, as in its plain form.")
    ] = False,
    trees: Annotated[
        int | None,
        typer.Option("--trees", min=1, help="Trees of the schemes multitree and domains, drawn by class; usually 1."),
    ] = None,
    root: Annotated[
        list[str] | None, typer.Option("--root", help="The root of one of their trees; repeat it for more.")
    ] = None,
    commit: Annotated[
        str | None,
        typer.Option("--commit", help="Their choice of a tree: random, flow or least; random if not given."),
    ] = None,
    domains: Annotated[
        str | None,
        typer.Option("--domains", help="How many domains to grow, or a file; √n if not given.", show_default=False),
    ] = None,
    outside: Annotated[
        str | None,
        typer.Option("--outside", help="What gateways tell of the outside: all, names or exact; all if not given."),
    ] = None,
    hashes: Annotated[
        int | None,
        typer.Option("--hashes", help="Hashes of a link in the scheme treeheader, 1 to 16; usually 8."),
    ] = None,
    header_bits: Annotated[
        int | None, typer.Option("--header-bits", help="Bits of its filter; if not given, so many that half are set.")
    ] = None,
    largest: Annotated[bool, typer.Option("--largest", help="Take the largest component of the graph.")] = False,
    classes: Annotated[
        int,
        typer.Option(
            "--classes", min=0, help="Count the classes of senders at so many random routers, and at the largest."
        ),
    ] = 0,
    draw: Annotated[
        Path | None, typer.Option("--draw", help="Draw one delivery of the first scheme as SVG.", show_default=False)
    ] = None,
    seed: Annotated[int, seed_option("Another seed makes another graph and messages.")] = 0,
    json: AsJson = False,
) -> None:
    """Deliver messages by each scheme, check every delivery, and compare packets, headers and state.

    Example: cbnet simulate --topology powerlaw:200 --random receivers=50,filters=3 --messages 1000
    """
    from cbnet.cli.lab import simulation_input as simulated
    from cbnet.cli.lab import simulation_output as output
    from cbnet.cli.lab.simulation_schemes import SchemeOptions
    from cbnet.routing import Network
    from cbnet.topology import topology as named

    _check_choice(predicates, random)
    names = [*dict.fromkeys(name.strip() for name in scheme.split(","))]
    options = SchemeOptions(
        unicast, partition or None, trees, root, commit, domains, outside, hashes, header_bits, seed
    )
    options.check(names)
    graph = named(topology, seed, largest=largest)
    _check_ips(names, len(graph))
    if predicates is not None:
        receivers = simulated.read_receivers(predicates, graph)
    else:
        receivers = simulated.random_receivers(graph, random or "", seed)
    network = Network(graph, receivers, simulated.chosen_senders(graph, senders, source or (), seed))
    schemes = options.build(names, network)
    traffic = simulated.traffic(network, _messages(messages, network, random, seed), seed)
    if draw is not None:
        output.check_drawing(draw, network)
    if len(network) > _COUNTED:
        print_remark(
            f"predicates are reduced at {_SAMPLED:,} routers; from them the state of all schemes is estimated, "
            f"but for {' and '.join(_ALWAYS_COUNTED)}"
        )
    rows = [_row(each, traffic, seed) for each in schemes]
    output.show_rows(rows, network, topology, as_json=json)
    if classes:
        output.show_classes(network, classes, seed, as_json=json)
    if draw is not None:
        output.draw_delivery(draw, schemes[0], traffic)
    _check_rows(rows)


def _check_rows(rows: Sequence[Row]) -> None:
    """Say what went wrong, if anything did."""
    wrong = [row.scheme for row in rows if row.totals.missed or row.totals.cut]
    if wrong == ["treeheader"]:  # its filters may be too full, which is no mistake of the scheme
        hint = "give it more --hashes or more --header-bits"
        raise InputError("treeheader: the filters name so many links that packets did not end", hint=hint)
    if wrong:
        raise CbnetError(f"messages were missed or ran in circles by {', '.join(wrong)}: please report this")


def _check_choice(predicates: Path | None, random: str | None) -> None:
    if (predicates is None) == (random is None):
        hint = "give either --predicates FILE or --random receivers=50,filters=3"
        raise InputError("it is not clear who wants what", hint=hint)


def _check_ips(names: Sequence[str], nodes: int) -> None:
    if "ips" in names and nodes > _COUNTED:
        others = ",".join(name for name in names if name != "ips") or "psf,pif,drp"
        raise InputError(
            f"ips is for networks of up to {_COUNTED:,} nodes, not {nodes:,}", hint=f"write --scheme {others}"
        )


def _messages(said: str, network: Network, random: str | None, seed: int) -> list[Message]:
    from cbnet.cli.lab import simulation_input as simulated

    if not re.fullmatch("-?[0-9]+", said):
        return simulated.read_message_file(Path(said))
    if len(said) > len(str(_MOST_MESSAGES)) or not 1 <= int(said) <= _MOST_MESSAGES:
        raise InputError(f"--messages must be from 1 to {_MOST_MESSAGES:,}, not {said}")
    if random is not None:
        return simulated.random_messages(random, int(said), seed)
    return simulated.made_messages(list(network.predicates.values()), int(said), seed)


def _row(scheme: Scheme, traffic: Traffic, seed: int) -> Row:
    """Deliver all messages by a scheme, with a progress bar where a person waits, and count its state."""
    from cbnet.cli.lab.simulation_output import Row
    from cbnet.cli.progress import progress_bar
    from cbnet.routing import sweep

    with progress_bar() as bar:
        totals = sweep(scheme, bar.track(traffic, description=scheme.name))
    nodes = len(scheme.network)
    sample = None if nodes <= _COUNTED else random.Random(f"counted {seed}").sample(range(nodes), _SAMPLED)
    is_estimated = sample is not None and scheme.name not in _ALWAYS_COUNTED
    return Row(scheme.name, totals, scheme.state(sample).bits(nodes), scheme.formula(), is_estimated)
