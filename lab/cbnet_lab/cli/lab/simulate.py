"""`cbnet lab simulate`: compare routing schemes on the same messages over the same network."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from cbnet.cli.console import print_note
from cbnet.errors import CbnetError, InputError
from cbnet_lab.cli.bench.plan_command import plan_function
from cbnet_lab.cli.lab.simulation.plan import SimulationPlan

if TYPE_CHECKING:
    from cbnet.language import Message
    from cbnet.routing import Network, Scheme
    from cbnet_lab.cli.lab.simulation.output import SchemeRow
    from cbnet_lab.cli.lab.simulation.pull_totals import PullTotals

    Traffic: TypeAlias = list[tuple[int, Message]]

_MAX_EXACT_NODES = 5_000  # up to which the state of all routers is counted, and ips is run
_MAX_MESSAGES = 1_000_000
_ALWAYS_EXACT = ("drp", "treeheader")  # their routers have no tables to reduce
_SAMPLE_SIZE = 1_000  # routers whose predicates are reduced in larger networks


def _simulate(plan: SimulationPlan, as_json: bool) -> None:
    from cbnet.routing import Network
    from cbnet.topology import topology as load_graph
    from cbnet_lab.cli.lab.simulation import inputs, output

    plan.check()
    graph = load_graph(plan.topology, plan.seed, largest=plan.largest)
    _check_ips(plan.schemes, len(graph))
    if plan.rules is not None:
        receivers = inputs.read_receivers(plan.rules, graph)
    else:
        receivers = inputs.random_receivers(graph, plan.random or "", plan.seed)
    network = Network(graph, receivers, inputs.select_senders(graph, plan.senders, plan.source, plan.seed))
    traffic = inputs.assign_senders(network, _messages(plan, network), plan.seed)
    sources = [node for node, _ in traffic]
    if plan.pull:
        totals = {name: _pulled(plan, network, sources, name, traffic) for name in _choices(plan.choice)}
        output.show_pulls(totals, plan.topology, as_json=as_json)
        return
    schemes = plan.build(network, sources)
    if plan.draw is not None:
        output.check_drawing(plan.draw, network)
    if len(network) > _MAX_EXACT_NODES:
        print_note(f"state is estimated from {_SAMPLE_SIZE:,} routers, except for {' and '.join(_ALWAYS_EXACT)}")
    rows = [_row(each, traffic, plan.seed, check_ideal=plan.ideal) for each in schemes]
    output.show_rows(rows, network, plan.topology, as_json=as_json)
    if plan.classes:
        output.show_classes(network, plan.classes, plan.seed, as_json=as_json)
    if plan.draw is not None:
        output.draw_delivery(plan.draw, schemes[0], traffic)
    _check_rows(rows)


simulate = plan_function("simulate", SimulationPlan, _simulate)


def _check_rows(rows: Sequence[SchemeRow]) -> None:
    """Raise an error if a message was missed or looped."""
    wrong = [row.scheme for row in rows if row.totals.missed or row.totals.cut]
    if wrong == ["treeheader"]:  # its filters may be too full, which is not a defect
        hint = "use more --hashes or more --header-bits"
        raise InputError("treeheader: the filters are so full that packets loop", hint=hint)
    if wrong:
        raise CbnetError(f"messages were missed or looped by {', '.join(wrong)}: please report this")


def _check_ips(names: Sequence[str], nodes: int) -> None:
    if "ips" in names and nodes > _MAX_EXACT_NODES:
        others = ",".join(name for name in names if name != "ips") or "psf,pif,drp"
        raise InputError(
            f"ips supports at most {_MAX_EXACT_NODES:,} nodes, not {nodes:,}", hint=f"write --scheme {others}"
        )


def _messages(plan: SimulationPlan, network: Network) -> list[Message]:
    from cbnet_lab.cli.lab.simulation import inputs

    text = plan.messages
    if not re.fullmatch("-?[0-9]+", text):
        return inputs.read_message_file(Path(text))
    if len(text) > len(str(_MAX_MESSAGES)) or not 1 <= int(text) <= _MAX_MESSAGES:
        raise InputError(f"--messages must be from 1 to {_MAX_MESSAGES:,}, not {text}")
    if plan.random is not None:
        return inputs.random_messages(plan.random, int(text), plan.seed)
    return inputs.matching_messages(list(network.predicates.values()), int(text), plan.seed)


def _choices(text: str | None) -> list[str]:
    from cbnet.routing.multitree.holder_choice import HOLDER_CHOICES, holder_choice

    names = list(HOLDER_CHOICES) if text is None else [*dict.fromkeys(name.strip() for name in text.split(","))]
    for name in names:
        holder_choice(name)  # raises an error for an unknown one
    return names


def _pulled(
    plan: SimulationPlan, network: Network, sources: Sequence[int], choice: str, traffic: Traffic
) -> PullTotals:
    """Send all messages as requests to the receivers of the network, whose predicates are their offers."""
    from cbnet.cli.console import progress_bar
    from cbnet.routing import Network
    from cbnet_lab.cli.lab.simulation.pull_totals import sweep_pulls

    nobody = Network(network.graph, {}, network.senders)
    scheme = plan.multitree(nobody, plan.popular(sources), network.predicates, choice)
    with progress_bar() as bar:
        return sweep_pulls(scheme, bar.track(traffic, description=choice))


def _row(scheme: Scheme, traffic: Traffic, seed: int, *, check_ideal: bool) -> SchemeRow:
    """Deliver all messages with a scheme, with a progress bar, and measure its state."""
    from cbnet.cli.console import progress_bar
    from cbnet.routing import sweep
    from cbnet_lab.cli.lab.simulation.output import SchemeRow

    with progress_bar() as bar:
        totals = sweep(scheme, bar.track(traffic, description=scheme.name), check_ideal=check_ideal)
    nodes = len(scheme.network)
    sample = None if nodes <= _MAX_EXACT_NODES else random.Random(f"counted {seed}").sample(range(nodes), _SAMPLE_SIZE)
    is_estimated = sample is not None and scheme.name not in _ALWAYS_EXACT
    return SchemeRow(scheme.name, totals, scheme.state(sample).bits(nodes), scheme.formula(), is_estimated)
