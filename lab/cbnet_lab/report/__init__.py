"""Charts and report pages; the only package that imports plotting."""
