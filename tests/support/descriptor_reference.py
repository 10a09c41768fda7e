"""Reference implementation of minimal descriptors and their counts, in plain Python.

Slow, and close to the definitions; kernels and jobs are compared with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cbnet.topology import Tree

Set = frozenset[int]


def reference_minimal(sets: Iterable[Iterable[int]]) -> set[Set]:
    """Return the sets that contain no other."""
    distinct = {frozenset(tags) for tags in sets}
    return {tags for tags in distinct if not any(other < tags for other in distinct)}


def reference_uncovered(groups: Sequence[int], sets: Sequence[Set], masks: Sequence[int]) -> list[int]:
    """Return the cases in which each set contains no other of its group; of equal sets, the first has the case."""
    left = []
    for row, tags in enumerate(sets):
        inside = [
            masks[other]
            for other, part in enumerate(sets)
            if groups[other] == groups[row] and (part < tags or (part == tags and other < row))
        ]
        left.append(masks[row] & ~_union(inside))
    return left


def reference_covered(
    groups: Sequence[int],
    sets: Sequence[Set],
    masks: Sequence[int],
    query_groups: Sequence[int],
    queries: Sequence[Set],
    max_sizes: Sequence[int],
) -> list[int]:
    """Return the cases in which each query contains a set of its group, of at most `max_sizes` tags."""
    return [
        _union(
            mask
            for own, part, mask in zip(groups, sets, masks, strict=True)
            if own == group and part <= tags and len(part) <= max_size
        )
        for group, tags, max_size in zip(query_groups, queries, max_sizes, strict=True)
    ]


def reference_tops(tree: Tree, owners: dict[Set, set[int]], tags: Set) -> dict[int, int | None]:
    """Return for each owner of a set its lowest common ancestor with an owner of a subset; or None."""
    inside = set().union(*(nodes for part, nodes in owners.items() if part < tags))
    return {
        owner: next(
            (node for node in reversed(tree.path(owner)) if inside & set(tree.descendants(node).tolist())), None
        )
        for owner in owners[tags]
    }


def reference_behind(tree: Tree, router: int, neighbour: int) -> set[int]:
    """Return the nodes behind a neighbour of a router on a tree."""
    if tree.parents[neighbour] == router:
        return set(tree.descendants(neighbour).tolist())
    return set(tree.preorder.tolist()) - set(tree.descendants(router).tolist())


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union
