"""`cbnet lab simulate`: compare routing schemes on the same messages over the same network."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cbnet.cli.console import plural, print_note, progress_bar
from cbnet.cli.options import JSON
from cbnet.errors import CbnetError, InputError
from cbnet_lab.bench.result_table import Cell, ResultTable
from cbnet_lab.cli.bench.plan_command import print_results
from cbnet_lab.cli.lab.simulation_plan import SimulationPlan

if TYPE_CHECKING:
    from cbnet.language import Message
    from cbnet.routing import Network, Scheme, Totals
    from cbnet.routing.multitree.multitree import MultiTree

Row: TypeAlias = dict[str, Any]
_MAX_EXACT_NODES = 5_000  # up to which the state of all routers is counted, and ips is run
_MAX_MESSAGES = 1_000_000
_ALWAYS_EXACT = ("drp", "treeheader")  # their routers have no tables to reduce
_SAMPLE_SIZE = 1_000  # routers whose predicates are reduced in larger networks
_COUNTS = ("messages", "delivered", "missed", "spurious", "duplicates", "packets")


def _decimals(name: str, digits: int) -> Cell[Row]:
    return lambda row: "-" if row[name] is None else f"{row[name]:,.{digits}f}"


_DELIVERIES: dict[str, Cell[Row]] = {
    **{name: name for name in ("scheme", "delivered", "missed", "spurious", "duplicates", "packets")},
    "stretch": _decimals("stretch_mean", 3),
    "max": _decimals("stretch_max", 3),
}
_STATE: dict[str, Cell[Row]] = {
    "scheme": "scheme",
    "header bytes": "header_bytes",
    "per packet": lambda row: f"{row['header_bytes'] / row['packets']:.2f}" if row["packets"] else "-",
    "state bits": "state_bits",
    "by formula": _decimals("state_bits_formula", 0),
}
_IDEAL: dict[str, Cell[Row]] = {
    "scheme": "scheme",
    "ideal": "ideal",
    "checked": "ideal_checked",
    "share": lambda row: f"{row['ideal'] / row['ideal_checked']:.1%}",
}
_PULLS: dict[str, Cell[Row]] = {
    **{name: name for name in ("choice", "answered", "unmatched", "missed")},
    "packets": "request_packets",
    "replies": "reply_packets",
    "extra": _decimals("extra_length", 2),
    "holders": "holders",
    "busiest": lambda row: f"{row['busiest']:.1%}",
}


def show_rows(rows: Sequence[Row], network: Network, topology: str, as_json: bool) -> None:
    """Print a row for each scheme, for people in tables under a line about the network."""
    filters = sum(map(len, network.predicates.values()))
    counts = (
        (len(network), "node"), (network.graph.edge_count, "edge"), (len(network.senders), "sender"),
        (len(network.receivers), "receiver"), (filters, "filter"), (rows[0]["messages"], "message"),
    )  # fmt: skip
    shown: list[str | ResultTable[Row]] = [f"{topology}: {', '.join(plural(*count) for count in counts)}\n"]
    shown += [ResultTable("Deliveries", rows, _DELIVERIES), ResultTable("Headers and state", rows, _STATE)]
    checked = [row for row in rows if "ideal" in row]
    if checked:
        shown.append(ResultTable("Ideal deliveries: latency-minimal with the fewest packets", checked, _IDEAL))
    print_results(rows, shown, as_json=as_json, tight=True)


def show_pulls(rows: Sequence[Row], topology: str, as_json: bool) -> None:
    """Print a row for each choice of a holder."""
    title = "Requests by choice of a holder; extra: length beyond the distance to the nearest holder"
    first = f"{topology}: {rows[0]['requests']:,} requests\n"
    print_results(rows, [first, ResultTable(title, rows, _PULLS)], as_json=as_json, tight=True)


def simulate(plan: SimulationPlan, as_json: bool = JSON) -> None:
    """Deliver messages with each scheme, check every delivery, and compare packets, headers and state.

    Example: cbnet lab simulate --topology powerlaw:200 --random receivers=50,filters=3 --messages 1000
    """
    from cbnet.routing import Network, sweep
    from cbnet.routing.multitree.policies import HOLDER_CHOICES, holder_choice
    from cbnet.topology import topology as load_graph
    from cbnet_lab.cli.lab import simulation_inputs as inputs

    plan.check()
    graph = load_graph(plan.topology, plan.seed, largest=plan.largest)
    if "ips" in plan.schemes and len(graph) > _MAX_EXACT_NODES:
        others = ",".join(name for name in plan.schemes if name != "ips") or "psf,pif,drp"
        problem = f"ips supports at most {_MAX_EXACT_NODES:,} nodes, not {len(graph):,}"
        raise InputError(problem, hint=f"write --scheme {others}")
    if plan.rules is not None:
        receivers = inputs.read_receivers(plan.rules, graph)
    else:
        receivers = inputs.random_receivers(graph, plan.random or "", plan.seed)
    network = Network(graph, receivers, inputs.select_senders(graph, plan.senders, plan.source, plan.seed))
    rng = random.Random(f"sources {plan.seed}")
    traffic = [(rng.choice(network.senders), message) for message in _messages(plan, network)]
    sources = [node for node, _ in traffic]
    if plan.pull:
        choices = [*dict.fromkeys(plan.choice or HOLDER_CHOICES)]
        for name in choices:
            holder_choice(name)  # raises an error for an unknown one
        show_pulls([_pull(plan, network, name, traffic) for name in choices], plan.topology, as_json)
        return
    schemes = plan.build(network, sources)
    if len(network) > _MAX_EXACT_NODES:
        print_note(f"state is estimated from {_SAMPLE_SIZE:,} routers, except for {' and '.join(_ALWAYS_EXACT)}")
    rows, wrong = [], []
    for scheme in schemes:
        with progress_bar() as bar:
            totals = sweep(scheme, bar.track(traffic, description=scheme.name), check_ideal=plan.ideal)
        rows.append(_row(scheme, totals, plan.seed))
        if totals.missed or totals.cut:
            wrong.append(scheme.name)
    show_rows(rows, network, plan.topology, as_json)
    if wrong == ["treeheader"]:  # its filters may be too full, which is not a defect
        hint = "use more --hashes or more --header-bits"
        raise InputError("treeheader: the filters are so full that packets loop", hint=hint)
    if wrong:
        raise CbnetError(f"messages were missed or looped by {', '.join(wrong)}: please report this")


def _messages(plan: SimulationPlan, network: Network) -> list[Message]:
    from cbnet_lab.cli.lab import simulation_inputs as inputs

    text = plan.messages
    if not re.fullmatch("-?[0-9]+", text):
        return inputs.read_message_file(Path(text))
    if len(text) > len(str(_MAX_MESSAGES)) or not 1 <= int(text) <= _MAX_MESSAGES:
        raise InputError(f"--messages must be from 1 to {_MAX_MESSAGES:,}, not {text}")
    if plan.random is not None:
        return inputs.random_messages(plan.random, int(text), plan.seed)
    return inputs.matching_messages(list(network.predicates.values()), int(text), plan.seed)


def _row(scheme: Scheme, totals: Totals, seed: int) -> dict[str, Any]:
    """Return the results of a scheme; its state is extrapolated from a sample of routers in a large network."""
    nodes, formula = len(scheme.network), scheme.formula()
    sample = None if nodes <= _MAX_EXACT_NODES else random.Random(f"counted {seed}").sample(range(nodes), _SAMPLE_SIZE)
    return {
        "scheme": scheme.name,
        **{name: getattr(totals, name) for name in _COUNTS},
        "stretch_mean": round(totals.stretch_mean, 6) if totals.delivered else None,
        "stretch_max": round(totals.stretch_max, 6) if totals.delivered else None,
        **({"ideal": totals.ideal, "ideal_checked": totals.ideal_checked} if totals.ideal_checked else {}),
        "header_bytes": totals.header_bytes,
        "state_bits": scheme.state(sample).bits(nodes),
        "state_bits_formula": None if formula is None else round(formula),
        "state_bits_estimated": sample is not None and scheme.name not in _ALWAYS_EXACT,
    }


def _pull(
    plan: SimulationPlan, network: Network, choice: str, traffic: Sequence[tuple[int, Message]]
) -> dict[str, Any]:
    """Send all messages as requests to the receivers of the network, whose predicates are their offers."""
    from cbnet.routing import Network

    nobody = Network(network.graph, {}, network.senders)
    scheme = plan.multitree(nobody, plan.popular(node for node, _ in traffic), network.predicates, choice)
    with progress_bar() as bar:
        return {"choice": choice, **sweep_pulls(scheme, bar.track(traffic, description=choice))}


def sweep_pulls(scheme: MultiTree, traffic: Iterable[tuple[int, Message]]) -> dict[str, Any]:
    """Return totals of requests, each from its requester, and of their replies [2014 §2, §3].

    A request goes to one holder, which the routers choose (`holder_choice`), and its reply returns on the same tree.
    The extra length is that of the path to the holder beyond the distance to the nearest one in the graph.
    """
    from cbnet.routing import Network
    from cbnet.routing.simulate.pull import pull
    from cbnet.topology import distances

    graph = scheme.network.graph
    offers = Network(graph, scheme.offers.predicates)
    counts = Counter[str]()
    answers = Counter[int]()  # requests that each holder answered
    extra = 0.0
    for requester, request in traffic:
        outcome = pull(scheme, requester, request)
        holders = offers.interested(request)
        counts.update(
            requests=1, unmatched=not holders, request_packets=len(outcome.packets),
            reply_packets=len(outcome.reply_packets),
        )  # fmt: skip
        if outcome.is_answered and outcome.holder is not None:
            answers[outcome.holder] += 1
            taken = outcome.packets[-1].latency if outcome.packets else 0
            extra += (taken - int(distances(graph, [requester])[0][holders].min())) / graph.scale
    answered = answers.total()
    return {
        "requests": counts["requests"], "answered": answered, "unmatched": counts["unmatched"],
        "missed": counts["requests"] - answered - counts["unmatched"],
        "request_packets": counts["request_packets"], "reply_packets": counts["reply_packets"],
        "holders": len(answers), "busiest": round(max(answers.values(), default=0) / max(1, answered), 6),
        "extra_length": round(extra / max(1, answered), 6),
    }  # fmt: skip
