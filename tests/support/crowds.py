"""Small populations that have all that makes a job hard: equal sets, sets inside others, frequent tags, empty ones."""

import random
from collections import defaultdict

from support.descriptor_reference import reference_behind, reference_minimal


def crowd(nodes, count, seed=0):
    """Return rows of POPULATION, not at the last node; half of all sets hold tag 0, whatever else."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        tags = {*rng.sample(range(rng.choice([6, 40, 90])), rng.randint(1, 5))}
        if rng.random() < 0.5:
            tags |= {0}
        role = rng.choice(["subscription", "offer"])
        rows.append((rng.randrange(nodes - 1), "web", role, sorted(tags)))
    return [*rows, (0, "web", "offer", [])]


def columns(schema):
    """Return names and types; whether Spark thinks that a column may be null does not matter."""
    return [(field.name, field.dataType) for field in schema]


def said_by(rows):
    """Return the sets of each node; what has no tags is left out."""
    said = defaultdict(list)
    for node, _, _, tags in rows:
        if tags:
            said[node].append(tuple(tags))
    return said


def behind(rows, tree, router, neighbour):
    """Return the sets of the nodes behind a neighbour of a router."""
    said = said_by(rows)
    return [tags for node in reference_behind(tree, router, neighbour) for tags in said[node]]


def minimal(sets):
    return {tuple(sorted(tags)) for tags in reference_minimal(sets)}
