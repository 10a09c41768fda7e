"""`cbnet lab simulate`: compare routing schemes on the same messages over the same network."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cbnet.cli.console import print_note
from cbnet.cli.options import RULES_BY_NODE, Json, Largest, seed_option, topology_option
from cbnet.errors import CbnetError, InputError

if TYPE_CHECKING:
    from cbnet.language import Message
    from cbnet.routing import Network, Scheme
    from cbnet_lab.cli.lab.simulation_output import SchemeRow
    from cbnet_lab.simulation.pull_totals import PullTotals
    from cbnet_lab.simulation.scheme_options import SchemeOptions

    Traffic: TypeAlias = list[tuple[int, Message]]

_MAX_EXACT_NODES = 5_000  # up to which the state of all routers is counted, and ips is run
_MAX_MESSAGES = 1_000_000
_ALWAYS_EXACT = ("drp", "treeheader")  # their routers have no tables to reduce
_SAMPLE_SIZE = 1_000  # routers whose predicates are reduced in larger networks


def simulate(
    topology: Annotated[str, topology_option()],
    scheme: Annotated[
        str, typer.Option("--scheme", metavar="NAME,...", help="Routing schemes, separated by commas.")
    ] = "psf,ips,pif,drp",
    rules: Annotated[Path | None, RULES_BY_NODE] = None,
    random: Annotated[
        str | None,
        typer.Option(
            "--random", metavar="SIZES", help="Random rules, such as receivers=50,filters=3.", show_default=False
        ),
    ] = None,
    messages: Annotated[
        str, typer.Option("--messages", metavar="N|FILE", help="Number of random messages, or a message file.")
    ] = "100",
    senders: Annotated[
        int | None,
        typer.Option("--senders", metavar="N", help="Number of random nodes that send.", show_default="all"),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="NODE", help="Node that sends; repeatable.", show_default=False),
    ] = None,
    unicast: Annotated[
        str | None,
        typer.Option(
            "--unicast", metavar="NAME", help="drp: unicast paths: shortest or tree.", show_default="shortest"
        ),
    ] = None,
    partition: Annotated[
        bool, typer.Option("--partition", help="drp: send the same header to all next hops (plain form).")
    ] = False,
    trees: Annotated[
        int | None,
        typer.Option(
            "--trees", metavar="K", min=1, help="multitree, domains: trees with random roots.", show_default="1"
        ),
    ] = None,
    root: Annotated[
        list[str] | None,
        typer.Option(
            "--root", metavar="NODE", help="multitree, domains: root of a tree; repeatable.", show_default=False
        ),
    ] = None,
    commit: Annotated[
        str | None,
        typer.Option(
            "--commit",
            metavar="NAME",
            help="multitree, domains: how to choose a tree: random, flow, least or own.",
            show_default="random; own with --producers",
        ),
    ] = None,
    producers: Annotated[
        int | None,
        typer.Option(
            "--producers",
            metavar="K",
            min=1,
            help="multitree: trees rooted at the K nodes that send the most messages.",
            show_default=False,
        ),
    ] = None,
    pull: Annotated[
        bool, typer.Option("--pull", help="Send messages as requests to nodes whose rules are offers (multitree).")
    ] = False,
    choice: Annotated[
        str | None,
        typer.Option(
            "--choice",
            metavar="NAME,...",
            help="--pull: how a router chooses a holder: nearest, random or least.",
            show_default="all three",
        ),
    ] = None,
    ideal: Annotated[
        bool, typer.Option("--ideal", help="Check which deliveries to at most 10 nodes are ideal.")
    ] = False,
    domains: Annotated[
        str | None,
        typer.Option("--domains", metavar="N|FILE", help="domains: number of domains, or a file.", show_default="√n"),
    ] = None,
    outside: Annotated[
        str | None,
        typer.Option(
            "--outside",
            metavar="NAME",
            help="domains: how gateways summarise other domains: all, names or exact.",
            show_default="all",
        ),
    ] = None,
    hashes: Annotated[
        int | None,
        typer.Option("--hashes", metavar="K", help="treeheader: hashes per link, 1 to 16.", show_default="8"),
    ] = None,
    header_bits: Annotated[
        int | None,
        typer.Option(
            "--header-bits", metavar="M", help="treeheader: bits of the filter.", show_default="half of them set"
        ),
    ] = None,
    largest: Largest = False,
    classes: Annotated[
        int,
        typer.Option(
            "--classes",
            metavar="N",
            min=0,
            help="Count the classes of senders at N random routers and the best-connected one.",
        ),
    ] = 0,
    draw: Annotated[
        Path | None,
        typer.Option("--draw", metavar="FILE.svg", help="Draw one delivery of the first scheme.", show_default=False),
    ] = None,
    seed: Annotated[int, seed_option("Seed of the graph, the rules and the messages.")] = 0,
    json: Json = False,
) -> None:
    """Deliver messages with each scheme, check every delivery, and compare packets, headers and state.

    Example: cbnet lab simulate --topology powerlaw:200 --random receivers=50,filters=3 --messages 1000
    """
    from cbnet.routing import Network
    from cbnet.topology import topology as load_graph
    from cbnet_lab.cli.lab import simulation_output as output
    from cbnet_lab.simulation import inputs
    from cbnet_lab.simulation.scheme_options import SchemeOptions

    _check_choice(rules, random)
    names = ["multitree"] if pull else [*dict.fromkeys(name.strip() for name in scheme.split(","))]
    options = SchemeOptions(
        unicast, partition or None, trees, root, commit, domains, outside, hashes, header_bits, seed, producers
    )
    if choice is not None and not pull:
        raise InputError("--choice: for requests only", hint="add --pull")
    options.check(names)
    graph = load_graph(topology, seed, largest=largest)
    _check_ips(names, len(graph))
    if rules is not None:
        receivers = inputs.read_receivers(rules, graph)
    else:
        receivers = inputs.random_receivers(graph, random or "", seed)
    network = Network(graph, receivers, inputs.select_senders(graph, senders, source or (), seed))
    traffic = inputs.assign_senders(network, _messages(messages, network, random, seed), seed)
    sources = [node for node, _ in traffic]
    if pull:
        choices = _choices(choice)
        output.show_pulls(
            {name: _pulled(options, network, sources, name, traffic) for name in choices}, topology, as_json=json
        )
        return
    schemes = options.build(names, network, sources)
    if draw is not None:
        output.check_drawing(draw, network)
    if len(network) > _MAX_EXACT_NODES:
        print_note(f"state is estimated from {_SAMPLE_SIZE:,} routers, except for {' and '.join(_ALWAYS_EXACT)}")
    rows = [_row(each, traffic, seed, check_ideal=ideal) for each in schemes]
    output.show_rows(rows, network, topology, as_json=json)
    if classes:
        output.show_classes(network, classes, seed, as_json=json)
    if draw is not None:
        output.draw_delivery(draw, schemes[0], traffic)
    _check_rows(rows)


def _check_rows(rows: Sequence[SchemeRow]) -> None:
    """Raise an error if a message was missed or looped."""
    wrong = [row.scheme for row in rows if row.totals.missed or row.totals.cut]
    if wrong == ["treeheader"]:  # its filters may be too full, which is not a defect
        hint = "use more --hashes or more --header-bits"
        raise InputError("treeheader: the filters are so full that packets loop", hint=hint)
    if wrong:
        raise CbnetError(f"messages were missed or looped by {', '.join(wrong)}: please report this")


def _check_choice(rules: Path | None, random: str | None) -> None:
    if (rules is None) == (random is None):
        hint = "give exactly one of --rules FILE and --random receivers=50,filters=3"
        raise InputError("no receivers given", hint=hint)


def _check_ips(names: Sequence[str], nodes: int) -> None:
    if "ips" in names and nodes > _MAX_EXACT_NODES:
        others = ",".join(name for name in names if name != "ips") or "psf,pif,drp"
        raise InputError(
            f"ips supports at most {_MAX_EXACT_NODES:,} nodes, not {nodes:,}", hint=f"write --scheme {others}"
        )


def _messages(text: str, network: Network, random: str | None, seed: int) -> list[Message]:
    from cbnet_lab.simulation import inputs

    if not re.fullmatch("-?[0-9]+", text):
        return inputs.read_message_file(Path(text))
    if len(text) > len(str(_MAX_MESSAGES)) or not 1 <= int(text) <= _MAX_MESSAGES:
        raise InputError(f"--messages must be from 1 to {_MAX_MESSAGES:,}, not {text}")
    if random is not None:
        return inputs.random_messages(random, int(text), seed)
    return inputs.matching_messages(list(network.predicates.values()), int(text), seed)


def _choices(text: str | None) -> list[str]:
    from cbnet.routing.multitree.holder_choice import HOLDER_CHOICES, holder_choice

    names = list(HOLDER_CHOICES) if text is None else [*dict.fromkeys(name.strip() for name in text.split(","))]
    for name in names:
        holder_choice(name)  # raises an error for an unknown one
    return names


def _pulled(
    options: SchemeOptions, network: Network, sources: Sequence[int], choice: str, traffic: Traffic
) -> PullTotals:
    """Send all messages as requests to the receivers of the network, whose predicates are their offers."""
    from cbnet.cli.console import progress_bar
    from cbnet.routing import Network
    from cbnet_lab.simulation.pull_totals import sweep_pulls

    nobody = Network(network.graph, {}, network.senders)
    scheme = options.multitree(nobody, options.popular(sources), network.predicates, choice)
    with progress_bar() as bar:
        return sweep_pulls(scheme, bar.track(traffic, description=choice))


def _row(scheme: Scheme, traffic: Traffic, seed: int, *, check_ideal: bool) -> SchemeRow:
    """Deliver all messages with a scheme, with a progress bar, and measure its state."""
    from cbnet.cli.console import progress_bar
    from cbnet.routing import sweep
    from cbnet_lab.cli.lab.simulation_output import SchemeRow

    with progress_bar() as bar:
        totals = sweep(scheme, bar.track(traffic, description=scheme.name), check_ideal=check_ideal)
    nodes = len(scheme.network)
    sample = None if nodes <= _MAX_EXACT_NODES else random.Random(f"counted {seed}").sample(range(nodes), _SAMPLE_SIZE)
    is_estimated = sample is not None and scheme.name not in _ALWAYS_EXACT
    return SchemeRow(scheme.name, totals, scheme.state(sample).bits(nodes), scheme.formula(), is_estimated)
