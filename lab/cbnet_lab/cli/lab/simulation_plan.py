"""The plan of a simulation: the options of `cbnet lab simulate`, and the schemes that they configure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from cbnet.cli.options import GRAPH, flag, option
from cbnet.errors import FileError, InputError
from cbnet.files import read_text
from cbnet_lab.bench.plan_options import names, seed

if TYPE_CHECKING:
    from cbnet.language import Predicate
    from cbnet.routing import Network, Scheme
    from cbnet.routing.multitree.multitree import MultiTree
    from cbnet.topology import Graph

    Offers: TypeAlias = Mapping[int, Predicate]

_MAX_ERRORS = 20  # of one file

# option -> the schemes that use it
_EFFECTS = {
    "unicast": ("drp",),
    "partition": ("drp",),
    "trees": ("multitree", "domains"),
    "root": ("multitree", "domains"),
    "commit": ("multitree", "domains"),
    "producers": ("multitree",),
    "domains": ("domains",),
    "outside": ("domains",),
    "hashes": ("treeheader",),
    "header_bits": ("treeheader",),
}


@dataclass(frozen=True)
class SimulationPlan:
    """The options of `cbnet lab simulate`."""

    topology: str = option(..., "GRAPH", GRAPH, name="--topology -t", shown=False)
    scheme: str = option("psf,ips,pif,drp", "NAME,...", "Routing schemes, separated by commas.")
    rules: Path | None = option(
        None, "FILE", "Rule file (.toml, .jsonl, .parquet) or compiled table (.cbt); interfaces are nodes.",
        name="--rules -r", shown=False,
    )  # fmt: skip
    random: str | None = option(None, "SIZES", "Random rules, such as receivers=50,filters=3.", shown=False)
    messages: str = option("100", "N|FILE", "Number of random messages, or a message file.")
    senders: int | None = option(None, "N", "Number of random nodes that send.", shown="all")
    source: tuple[str, ...] = option((), "NODE", "Node that sends; repeatable.", shown=False)
    unicast: str | None = option(None, "NAME", "drp: unicast paths: shortest or tree.", shown="shortest")
    partition: bool = flag("drp: send the same header to all next hops (plain form).")
    trees: int | None = option(None, "K", "multitree, domains: trees with random roots.", shown="1", least=1)
    root: tuple[str, ...] = option((), "NODE", "multitree, domains: root of a tree; repeatable.", shown=False)
    commit: str | None = option(
        None, "NAME", "multitree, domains: how to choose a tree: random, flow, least or own.",
        shown="random; own with --producers",
    )  # fmt: skip
    producers: int | None = option(
        None, "K", "multitree: trees rooted at the K nodes that send the most messages.", shown=False, least=1
    )
    pull: bool = flag("Send messages as requests to nodes whose rules are offers (multitree).")
    choice: tuple[str, ...] | None = option(
        None, "NAME,...", "--pull: how a router chooses a holder: nearest, random or least.", parse=names,
        shown="all three",
    )  # fmt: skip
    ideal: bool = flag("Check which deliveries to at most 10 nodes are ideal.")
    domains: str | None = option(None, "N|FILE", "domains: number of domains, or a file.", shown="√n")
    outside: str | None = option(
        None, "NAME", "domains: how gateways summarise other domains: all, names or exact.", shown="all"
    )
    hashes: int | None = option(None, "K", "treeheader: hashes per link, 1 to 16.", shown="8")
    header_bits: int | None = option(None, "M", "treeheader: bits of the filter.", shown="half of them set")
    largest: bool = flag("Use the largest component of a disconnected graph.")
    seed: int = seed("Seed of the graph, the rules and the messages.")

    @property
    def schemes(self) -> list[str]:
        """The names of the schemes."""
        return ["multitree"] if self.pull else [*dict.fromkeys(name.strip() for name in self.scheme.split(","))]

    def check(self) -> None:
        """Raise an error for an option that no scheme uses, or for two that exclude each other."""
        if (self.rules is None) == (self.random is None):
            hint = "give exactly one of --rules FILE and --random receivers=50,filters=3"
            raise InputError("no receivers given", hint=hint)
        if self.choice is not None and not self.pull:
            raise InputError("--choice: for requests only", hint="add --pull")
        if self.producers is not None and (self.trees is not None or self.root):
            raise InputError("--producers gives the roots of the trees", hint="leave out --trees and --root")
        unused: dict[tuple[str, ...], list[str]] = {}
        for name, schemes in _EFFECTS.items():
            if getattr(self, name) not in (None, False, ()) and not set(schemes) & set(self.schemes):
                unused.setdefault(schemes, []).append("--" + name.replace("_", "-"))
        for schemes, options in unused.items():
            noun, needed = ("scheme", schemes[0]) if len(schemes) == 1 else ("schemes", "one of them")
            problem = f"{' and '.join(options)}: used by the {noun} {' and '.join(schemes)} only"
            raise InputError(problem, hint=f"add {needed} to --scheme")

    def build(self, network: Network, sources: Iterable[int] = ()) -> list[Scheme]:
        """Return the schemes. sources: of all messages, of which --producers takes the most frequent."""
        from cbnet.routing import scheme

        popular = self.popular(sources)
        kinds = {name: scheme(name) for name in self.schemes}  # raises an error before anything is built
        own: dict[str, Callable[[Network], Scheme]] = {
            "drp": self._drp, "multitree": lambda network: self.multitree(network, popular),
            "domains": self._domains, "treeheader": self._tree_header,
        }  # fmt: skip
        return [own.get(name, kind)(network) for name, kind in kinds.items()]

    def _drp(self, network: Network) -> Scheme:
        from cbnet.routing.schemes.drp import Drp
        from cbnet.routing.schemes.unicast import unicast

        return Drp(network, unicast(self.unicast or "shortest", network), partition=self.partition)

    def popular(self, sources: Iterable[int]) -> list[int]:
        """Return the most frequent sources of messages, as many as --producers; ties by id."""
        return [node for node, _ in Counter(sorted(sources)).most_common(self.producers or 0)]

    def multitree(
        self, network: Network, popular: Sequence[int], offers: Offers | None = None, choice: str = "nearest"
    ) -> MultiTree:
        """Return trees rooted at popular producers, or else at the given or random roots [2014 §3.1]."""
        from cbnet.routing.multitree.multitree import MultiTree

        roots = list(popular) or self._roots(network.graph)
        commit = self.commit or ("own" if popular else "random")
        return MultiTree(network, roots, offers=offers, commit=commit, choice=choice, seed=self.seed)

    def _domains(self, network: Network) -> Scheme:
        from cbnet.routing.schemes.domains import Domains

        graph, between = network.graph, self._roots(network.graph)
        groups = self._groups(graph)
        inside = between if self.root else _roots_inside(graph, groups, self.trees or 1, self.seed)
        policies = {"outside": self.outside or "all", "commit": self.commit or "random"}
        return Domains(network, groups, inside, between, seed=self.seed, **policies)

    def _tree_header(self, network: Network) -> Scheme:
        from cbnet.routing.schemes.tree_header import HASHES, TreeHeader

        return TreeHeader(network, hashes=HASHES if self.hashes is None else self.hashes, bits=self.header_bits)

    def _roots(self, graph: Graph) -> list[int]:
        return select_roots(graph, self.trees, list(self.root), self.seed)

    def _groups(self, graph: Graph) -> Sequence[object]:
        """Return the domain of each node: from a file, or a number of grown domains, by default √n."""
        from math import isqrt

        from cbnet.topology.domains import grow_domains

        text = self.domains if self.domains is not None else str(isqrt(len(graph)))
        if not re.fullmatch("-?[0-9]+", text):
            return _read_domains(Path(text), graph)
        if len(text) > len(str(len(graph))) + 1:
            raise InputError(f"--domains must be from 1 to {len(graph):,}, not {text}")
        groups: list[int] = grow_domains(graph, int(text)).tolist()
        return groups


def _read_domains(path: Path, graph: Graph) -> list[str]:
    """Return the domain of each node, from a file with one line per node: its name and its domain.

    The errors of the file are reported together.
    """
    domains: dict[int, str] = {}
    errors: list[InputError] = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        text = line.partition("#")[0].strip()
        if text and len(errors) < _MAX_ERRORS:
            try:
                _add_domain(text, graph, domains)
            except InputError as error:
                errors.append(error.at(file=str(path), line=number))
    if not errors and len(domains) < len(graph):
        missing = next(name for node, name in enumerate(graph.names) if node not in domains)
        errors.append(InputError(f"the node {missing} has no domain", hint=f"write {missing} NAME", file=str(path)))
    if errors:
        raise FileError(str(path), errors)
    return [domains[node] for node in range(len(graph))]


def _add_domain(text: str, graph: Graph, domains: dict[int, str]) -> None:
    fields = [field.strip() for field in text.split(",")] if "," in text else text.split()
    if len(fields) != 2 or not all(fields):
        raise InputError(f"{text!r} is not a node and its domain", hint="write two names: a north")
    node = graph.id(fields[0])
    if node in domains:
        raise InputError(f"the node {fields[0]} already has the domain {domains[node]}", hint="keep one line")
    domains[node] = fields[1]


def select_roots(graph: Graph, count: int | None, names: Sequence[str], seed: int) -> list[int]:
    """Return the named roots, or `count` random ones drawn by class (by default one)."""
    from cbnet.topology import draw_roots, root_classes

    if names and count is not None:
        raise InputError("both a number of trees and their roots are given", hint="give one of them")
    if names:
        return [graph.id(name) for name in names]
    drawn: list[int] = draw_roots(root_classes(graph), count or 1, seed=seed).tolist()
    return drawn


def _roots_inside(graph: Graph, groups: Sequence[object], count: int, seed: int) -> list[int]:
    """Return `count` random roots in each domain, drawn by class."""
    import numpy as np

    from cbnet.topology import draw_roots, root_classes
    from cbnet.topology.domains import validate_domains

    domains = validate_domains(graph, groups)
    roots: list[int] = []
    for number in range(int(domains.max()) + 1):
        mask = domains == number
        roots += np.flatnonzero(mask)[draw_roots(root_classes(graph.part(mask)), count, seed=seed)].tolist()
    return roots
