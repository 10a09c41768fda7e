"""Options of routing schemes in a simulation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.language import Predicate
    from cbnet.routing import Network, Scheme
    from cbnet.routing.multitree.multitree import MultiTree
    from cbnet.topology import Graph

    Offers: TypeAlias = Mapping[int, Predicate]

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
class SchemeOptions:
    """Options of the command line; None if not given."""

    unicast: str | None
    partition: bool | None
    trees: int | None
    root: Sequence[str] | None
    commit: str | None
    domains: str | None
    outside: str | None
    hashes: int | None
    header_bits: int | None
    seed: int
    producers: int | None = None

    def check(self, names: Sequence[str]) -> None:
        """Raise an error for an option that none of the schemes uses, or for two that exclude each other."""
        if self.producers is not None and (self.trees is not None or self.root):
            raise InputError("--producers gives the roots of the trees", hint="leave out --trees and --root")
        unused: dict[tuple[str, ...], list[str]] = {}
        for option, schemes in _EFFECTS.items():
            if getattr(self, option) is not None and not set(schemes) & set(names):
                unused.setdefault(schemes, []).append("--" + option.replace("_", "-"))
        for schemes, options in unused.items():
            listed = " and ".join(options)
            if len(schemes) == 1:
                problem = f"{listed}: used by the scheme {schemes[0]} only"
                raise InputError(problem, hint=f"add {schemes[0]} to --scheme")
            problem = f"{listed}: used by the schemes {' and '.join(schemes)} only"
            raise InputError(problem, hint="add one of them to --scheme")

    def build(self, names: Sequence[str], network: Network, sources: Iterable[int] = ()) -> list[Scheme]:
        """Return the schemes of these names. sources: of all messages, of which --producers takes the most frequent."""
        from cbnet.routing import scheme

        popular = self.popular(sources)

        kinds = {name: scheme(name) for name in names}  # raises an error for an unknown name before anything is built
        own: dict[str, Callable[[Network], Scheme]] = {
            "drp": self._drp, "multitree": lambda network: self.multitree(network, popular),
            "domains": self._domains, "treeheader": self._tree_header,
        }  # fmt: skip
        return [(own.get(name) or kinds[name])(network) for name in names]

    def _drp(self, network: Network) -> Scheme:
        from cbnet.routing.schemes.drp import Drp
        from cbnet.routing.schemes.unicast import unicast

        return Drp(network, unicast(self.unicast or "shortest", network), partition=bool(self.partition))

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
        from cbnet.routing.domains.scheme import Domains

        graph, between = network.graph, self._roots(network.graph)
        groups = self._groups(graph)
        inside = between if self.root else _roots_inside(graph, groups, self.trees or 1, self.seed)
        policies = {"outside": self.outside or "all", "commit": self.commit or "random"}
        return Domains(network, groups, inside, between, seed=self.seed, **policies)

    def _tree_header(self, network: Network) -> Scheme:
        from cbnet.routing.schemes.tree_header import HASHES, TreeHeader

        return TreeHeader(network, hashes=HASHES if self.hashes is None else self.hashes, bits=self.header_bits)

    def _roots(self, graph: Graph) -> list[int]:
        from cbnet.topology.trees.roots import select_roots

        return select_roots(graph, self.trees, self.root or [], self.seed)

    def _groups(self, graph: Graph) -> Sequence[object]:
        """Return the domain of each node: from a file, or a number of grown domains, by default √n."""
        from math import isqrt

        from cbnet.topology.readers.domain_file import read_domains
        from cbnet.topology.trees.domains import grow_domains

        text = self.domains if self.domains is not None else str(isqrt(len(graph)))
        if not re.fullmatch("-?[0-9]+", text):
            return read_domains(Path(text), graph)
        if len(text) > len(str(len(graph))) + 1:
            raise InputError(f"--domains must be from 1 to {len(graph):,}, not {text}")
        groups: list[int] = grow_domains(graph, int(text)).tolist()
        return groups


def _roots_inside(graph: Graph, groups: Sequence[object], count: int, seed: int) -> list[int]:
    """Return `count` random roots in each domain, drawn by class."""
    import numpy as np

    from cbnet.topology import draw_roots, root_classes
    from cbnet.topology.trees.domains import validate_domains

    domains = validate_domains(graph, groups)
    roots: list[int] = []
    for number in range(int(domains.max()) + 1):
        mask = domains == number
        roots += np.flatnonzero(mask)[draw_roots(root_classes(graph.part(mask)), count, seed=seed)].tolist()
    return roots
