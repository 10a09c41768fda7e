"""Relations between predicates: covering, overlap, witnesses, reduction, size."""
