"""Normal form of the filters that a router announces: canonical bytes, without redundant constraints."""

from __future__ import annotations

from cbnet.language.filter import Filter
from cbnet.language.relations.covering import satisfiable
from cbnet.language.relations.reduction import reduce
from cbnet.network.protocol.filter_codec import canonical_filter, filter_to_bytes


def normalised(filter: Filter) -> bytes | None:
    """Return the bytes of a filter without redundant constraints; None if no message matches it."""
    canonical = canonical_filter(filter)
    if len({constraint.name for constraint in canonical.constraints}) == len(canonical.constraints):
        return filter_to_bytes(canonical) if satisfiable(canonical) else None
    ordered = Filter(sorted(canonical.constraints), canonical.tags, sorted(canonical.conditions))
    return next(map(filter_to_bytes, reduce(ordered)), None)
