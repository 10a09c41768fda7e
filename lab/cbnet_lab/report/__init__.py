"""Charts, graph drawings and report pages; the only package that imports plotting."""
