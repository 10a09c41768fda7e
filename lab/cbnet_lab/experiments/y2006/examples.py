"""Worked examples of [2006 §2, §3, §4.2], on networks that fit the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from cbnet.language import Message, Predicate, disjunction_advantage, parse, reduce, size, witness
from cbnet.language.filter import Filter
from cbnet.matching import Table, reference
from cbnet.matching.engines.registry import ENGINES
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.routing import deliver
from cbnet.routing.schemes.drp import Drp, DrpRouter
from cbnet.routing.schemes.header_rewriting import Rewriting
from cbnet.routing.schemes.pif import FStar, Pif, PifRouter
from cbnet.routing.schemes.source_classes import classes_at
from cbnet.routing.schemes.unicast import ReplacedHops, ShortestPaths
from cbnet.routing.simulate.verdict import spurious_nodes
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table, grouped, where
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.small_networks import RING, TWELVE, TWELVE_TIED, NamedNetwork
from cbnet_lab.experiments.y2006.larger_networks import FITTED, fitted_finding, larger_network_rows
from cbnet_lab.workload import Disjunction2006, predicates

_HIGHWAY = 'alert = "congestion" and severity > 2 or alert = "accident"'
_REDUCIBLE = "(x > 10 and y = 100) or (y > 0)"
_MAX_PACKETS = 1000
_NEAR = 10  # filters of a disjunction near which messages are matched; the reference is slow
_RULES: Mapping[int, ClaimRule] = {
    rule.claim: rule
    for rule in (
        ClaimRule(40, "the size is 3, and every engine and the reference match the message"),
        ClaimRule(
            41,
            "α of the example is 1/2, and no reduced disjunction of random predicates answers a message otherwise; "
            "α ≤ 1 alone follows from the definition, as reduction only removes filters",
        ),
        ClaimRule(51, f"F* alone exceeds {_MAX_PACKETS:,} packets, and PIF sends at most one per node"),
        ClaimRule(63, "the reduced predicate is y > 0"),
    )
}


@dataclass(frozen=True)
class ExamplesParameters2006:
    """Sets of random predicates to reduce, predicates per set; larger networks, and messages sent over each."""

    sets: int = 20
    predicates: int = 100
    larger: tuple[str, ...] = ("aslike:60", "powerlaw:60")
    messages: int = 100


def _run(parameters: ExamplesParameters2006, context: ExperimentContext) -> dict[str, pa.Table]:
    parts = (
        _predicates(), _advantage(parameters, context), _trees(), _classes(), _interfaces(), _loops(), _not_ideal(),
        _partition(), _twice(),
    )  # fmt: skip
    larger = (larger_network_rows(name, parameters.messages, context.seed) for name in parameters.larger)
    return {
        "examples": as_table([row for part in parts for row in part]),
        "larger": as_table([row for rows in larger for row in rows]),
    }


def _row(claim: int, what: str, actual: object, expected: object) -> Row:
    return {"claim": claim, "what": what, "actual": str(actual), "expected": str(expected)}


def _predicates() -> Iterator[Row]:
    message = Message({"alert": "congestion", "severity": 3, "location": "highway1"})
    predicate = parse(_HIGHWAY)
    yield _row(40, "size", size(predicate), 3)
    yield _row(40, "matches, reference", bool(reference.match({0: predicate}, message)), True)
    for engine in ENGINES:
        yield _row(40, f"matches, {engine}", bool(Table.build({0: predicate}, engine=engine).match(message)), True)
    yield _row(63, "reduced", reduce(_REDUCIBLE, "pairwise"), "y > 0")


def _advantage(parameters: ExamplesParameters2006, context: ExperimentContext) -> Iterator[Row]:
    yield _row(41, "α of severity > 2 and severity > 3", disjunction_advantage(["severity > 2", "severity > 3"]), 0.5)
    asked = wrong = 0
    alphas = []
    for number in range(parameters.sets):
        mix = Disjunction2006(parameters.predicates, 50, seed=context.seed, set=number)
        columns = columns_from_arrow(predicates(mix))
        filters = [columns.filter(row) for row in range(len(columns))]
        whole, reduced = Predicate(filters), reduce(Predicate(filters))
        alphas.append(size(reduced) / sum(size(Predicate([each])) for each in filters))
        for message in _near_messages(filters[:_NEAR]):  # filters are drawn independently
            asked += 1
            wrong += bool(reference.match({0: whole}, message)) != bool(reference.match({0: reduced}, message))
    yield _row(41, f"answers of reduced disjunctions that differ, of {asked:,}", wrong, 0)
    yield _row(41, f"some of {len(alphas)} disjunctions shrink", min(alphas) < 1, True)


def _near_messages(filters: list[Filter]) -> Iterator[Message]:
    """Yield a message that matches each filter, and one that lacks one of its attributes."""
    for each in filters:
        message = witness(Predicate([each]))
        if message is not None:
            members = message.to_dict()
            yield message
            yield Message.from_dict(dict(list(members.items())[1:]))


def _trees() -> Iterator[Row]:
    named = NamedNetwork(TWELVE)
    tree = named.network.tree(named.id(1))
    for child, expected in ((7, "4, 7, 8, 11, 12"), (9, "")):
        w = named.id(child)
        below = tree.descendants(w).tolist() if tree.parents[w] == named.id(6) else []
        yield _row(42, f"behind (6, {child})", named.names(below), expected)


def _classes() -> Iterator[Row]:
    named = NamedNetwork(TWELVE)
    below = (2, 3, 4, 7, 8, 11, 12)
    classes = classes_at(named.graph, [named.id(u) for u in (6, *below)], range(len(named.graph)))
    own = next(each for each in classes[named.id(6)] if named.id(1) in each)
    yield _row(48, "the class of 1 at 6", named.names(own), "1, 5, 9")
    together = {named.id(v) for v in (1, 5, 6, 9)}
    where = [u for u in (named.id(u) for u in below) if any(together <= set(each) for each in classes[u])]
    yield _row(48, "1, 5, 6 and 9 are one class at", named.names(where), ", ".join(map(str, below)))
    yield _row(48, "R_6 for the class of 1", int(Rewriting(named.network).rewrites(named.id(1), named.id(6))), 1)


def _interfaces() -> Iterator[Row]:
    named = NamedNetwork(TWELVE)
    router = PifRouter(named.network, named.id(6))
    yield _row(50, "F*_6(9)", named.names(router.table.receivers[named.id(9)]), "5, 9, 10")
    union: set[int] = set()
    for v in range(len(named.graph)):
        tree = named.network.tree(v)
        if tree.parents[named.id(9)] == named.id(6):
            union |= set(tree.descendants(named.id(9)).tolist())
    yield _row(50, "the union over all sources", named.names(union), "5, 9, 10")


def _loops() -> Iterator[Row]:
    named = NamedNetwork(TWELVE)
    message = named.message(7, 10)
    alone = deliver(FStar(named.network), named.id(6), message, limit=_MAX_PACKETS)
    yield _row(51, f"by F* alone, more than {_MAX_PACKETS:,} packets", alone.is_cut, True)
    within = deliver(Pif(named.network), named.id(6), message, limit=_MAX_PACKETS)
    yield _row(51, "by PIF, more than one packet per node", len(within.packets) > len(named.graph), False)


def _not_ideal() -> Iterator[Row]:
    named = NamedNetwork(RING)
    delivery = deliver(Pif(named.network), named.id(1), named.message(2, 4))
    yield _row(53, "spurious", named.names(spurious_nodes(named.network, delivery)), "3")


def _partition() -> Iterator[Row]:
    named = NamedNetwork(TWELVE)
    router = Drp(named.network).router(named.id(6))
    assert isinstance(router, DrpRouter)
    groups = router.groups(tuple(named.id(x) for x in (2, 3, 4, 8)))
    text = "; ".join(f"{{{named.names(members)}}} → {named.names([hop])}" for hop, members in groups.items())
    yield _row(55, "groups at 6", text, "{2, 3} → 2; {4, 8} → 7")


def _twice() -> Iterator[Row]:
    named = NamedNetwork(TWELVE_TIED)
    five = named.id(5)
    hops = {(five, named.id(8)): named.id(9), (five, named.id(11)): named.id(1)}
    drp = Drp(named.network, ReplacedHops(ShortestPaths(named.network), hops))
    delivery = deliver(drp, five, named.message(7, 8, 11))
    packets = sum(packet.receiver == named.id(7) for packet in delivery.packets)
    yield _row(57, f"at least two packets to 7 ({packets})", packets >= 2, True)


def _findings(tables: Tables, _: ExamplesParameters2006) -> list[Finding]:
    findings = []
    for (claim,), rows in sorted(grouped(tables["examples"].to_pylist(), "claim").items()):
        wrong = [row["what"] for row in rows if row["actual"] != row["expected"]]
        ours = "; ".join(f"{row['what']}: {row['actual'] or 'none'}" for row in rows)
        if claim in FITTED:
            findings.append(fitted_finding(claim, ours, not wrong, where(tables["larger"].to_pylist(), claim=claim)))
            continue
        findings.append(_RULES[claim].decide(ours, not wrong, f"differs from the paper: {', '.join(wrong)}"))
    return findings


EXPERIMENT = Experiment(
    name="2006-examples",
    title="The worked examples",
    paper="2006",
    section="§2, §3, §4.2, Figures 1 to 4",
    claims=(40, 41, 42, 48, 50, 51, 53, 55, 57, 63),
    scales={
        "quick": ExamplesParameters2006(),
        "full": ExamplesParameters2006(100, 1000, ("aslike:300", "powerlaw:300")),
        "paper": ExamplesParameters2006(1000, 1000, ("aslike:300", "powerlaw:300"), 1000),
    },
    run=_run,
    findings=_findings,
    choices=(
        "The figures are not in the text: our networks of 12 and of 4 agree with everything it states about them.",
        "In the counter-example to DRP the edge from 1 to 6 is shorter, which creates a tie; two next hops are set.",
    ),
)
