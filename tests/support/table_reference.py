"""Reference tables of routers, by looking at the descriptors of all nodes."""

from support.crowds import behind, minimal


def neighbours(tree, router):
    return {*tree.children(router).tolist(), int(tree.parents[router])} - {-1}


def entries(frame):
    """Return the rows of FIB; each must occur once."""
    table = [(row.tree, row.router, row.interface, tuple(row.tags)) for row in frame.collect()]
    assert len({*table}) == len(table)
    return {*table}


def expected_tables(rows, tree, routers, number=0):
    return {
        (number, router, neighbour, tags)
        for router in routers
        for neighbour in neighbours(tree, router)
        for tags in minimal(behind(rows, tree, router, neighbour))
    }


def expected_folded(rows, trees, routers):
    """Return the folded entries [2014 §3.2.3]: without a tree if all trees lead there, else by tree."""
    table = set()
    for router in routers:
        for neighbour in set().union(*(neighbours(tree, router) for tree in trees)):
            by_tree = [
                {*behind(rows, tree, router, neighbour)} if neighbour in neighbours(tree, router) else set()
                for tree in trees
            ]
            kept = [minimal(sets) for sets in by_tree]
            for tags in set().union(*kept):
                if all(any({*other} <= {*tags} for other in sets) for sets in by_tree):
                    table.add((None, router, neighbour, tags))
                else:
                    table |= {(tree, router, neighbour, tags) for tree, sets in enumerate(kept) if tags in sets}
    return table
