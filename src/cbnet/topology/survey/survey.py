"""Survey of the costs and gains of k trees on a graph [2014 §4.1].

Roots are selected several times. Selections are independent: seed and number determine the roots, sources and
random ties of each. So selections can be surveyed anywhere, and their statistics merged.

All k are surveyed in one pass: smaller k use the first of the trees of the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.topology.graph.graph import Graph
from cbnet.topology.graph.sampling import check_seed, sample_sources
from cbnet.topology.survey.distinct_trees import distinct_trees
from cbnet.topology.survey.link_load import link_load
from cbnet.topology.survey.stretch import extra_lengths
from cbnet.topology.survey.tree_statistics import Stretch, TreeStatistics
from cbnet.topology.survey.value_counts import ValueCounts
from cbnet.topology.trees.roots import draw_roots, root_classes
from cbnet.topology.trees.shortest_paths import Tree
from cbnet.topology.trees.ties import Ties, tied_trees

Selection: TypeAlias = Callable[[], list[TreeStatistics]]


def _run_here(selections: Sequence[Selection]) -> list[list[TreeStatistics]]:
    return [survey_one() for survey_one in selections]


def survey(
    graph: Graph,
    ks: Sequence[int],
    *,
    ties: Sequence[Ties] = (Ties.SMALLEST,),
    sources: int | None = 200,
    selections: int = 20,
    seed: int = 0,
    done: Callable[[], object] = lambda: None,
    run: Callable[[Sequence[Selection]], list[list[TreeStatistics]]] = _run_here,
) -> list[TreeStatistics]:
    """Return the statistics for each rule of ties and each k, over all selections.

    Each selection measures paths from `sources` random nodes, or from all if it is None; `done` is called after each.
    `run` calls the selections, possibly in other processes, and returns their results in order.
    """
    check_seed(seed)
    if selections < 1:
        raise InputError(f"the number of selections must be at least 1, not {selections}")
    classes = root_classes(graph)
    statistics = []
    for rule in ties:
        survey_one = partial(survey_selection, graph, classes, ks, rule, sources=sources, seed=seed, done=done)
        parts = run([partial(survey_one, selection=selection) for selection in range(selections)])
        statistics += [TreeStatistics.merged(of_k) for of_k in zip(*parts, strict=True)]
    return statistics


def survey_selection(
    graph: Graph,
    classes: NDArray[np.int8],
    ks: Sequence[int],
    ties: Ties,
    *,
    sources: int | None,
    seed: int,
    selection: int,
    done: Callable[[], object] = lambda: None,
) -> list[TreeStatistics]:
    """Return the statistics for each k of one selection of roots, drawn by the nodes' `classes`, int8[n]."""
    if len(graph) < 2:
        raise InputError("the graph has one node, so there are no paths")
    of_roots, of_sources, of_ties = (
        int(state) for state in np.random.SeedSequence(seed, spawn_key=(selection,)).generate_state(3, np.uint64)
    )
    trees = tied_trees(graph, draw_roots(classes, max(ks), seed=of_roots).tolist(), ties, seed=of_ties)
    stretches = survey_stretch(graph, trees, ks, sample_sources(graph, sources, of_sources), done)
    rows = zip(ks, stretches, distinct_trees(graph, trees, ks), link_load(graph, trees, ks), strict=True)
    return [
        TreeStatistics(
            ties=ties,
            k=k,
            stretch=stretch,
            interfaces=ValueCounts.of(sets[sets > 0]),
            most=np.array([sets.max()], dtype=np.int64),
            links_used=np.array([(load > 0).sum()]),
            mean_load=np.array([load[load > 0].mean()]),
            largest_load=np.array([load.max()]),
        )
        for k, stretch, sets, load in rows
    ]


def survey_stretch(
    graph: Graph,
    trees: Sequence[Tree],
    ks: Sequence[int],
    sources: Sequence[int],
    done: Callable[[], object] = lambda: None,
) -> list[Stretch]:
    """Return the stretch of the first k trees from these sources, for each k."""
    parts: list[list[Stretch]] = []
    for source in sources:
        parts.append([Stretch.of(extra) for extra in extra_lengths(graph, trees, source, ks)])
        done()
    return [Stretch.merged(of_k) for of_k in zip(*parts, strict=True)]
