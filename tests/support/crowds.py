"""Small populations with all hard cases of the jobs: equal sets, subsets, frequent tags, empty sets."""

import random
from collections import defaultdict

from support.descriptor_reference import reference_behind, reference_minimal


def crowd(nodes, count, seed=0):
    """Return rows of POPULATION, not at the last node; half of all sets have tag 0, each is of a user of its own."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        tags = {*rng.sample(range(rng.choice([6, 40, 90])), rng.randint(1, 5))}
        if rng.random() < 0.5:
            tags |= {0}
        role = rng.choice(["subscription", "offer"])
        rows.append((rng.randrange(nodes - 1), "web", role, sorted(tags), True))
    return [*rows, (0, "web", "offer", [], True)]


def columns(schema):
    """Return names and types of columns, without nullability."""
    return [(field.name, field.dataType) for field in schema]


def sets_by_node(rows):
    """Return the non-empty sets of each node."""
    sets = defaultdict(list)
    for node, _, _, tags, _ in rows:
        if tags:
            sets[node].append(tuple(tags))
    return sets


def behind(rows, tree, router, neighbour):
    """Return the sets of the nodes behind a neighbour of a router."""
    sets = sets_by_node(rows)
    return [tags for node in reference_behind(tree, router, neighbour) for tags in sets[node]]


def minimal(sets):
    return {tuple(sorted(tags)) for tags in reference_minimal(sets)}
