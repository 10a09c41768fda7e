"""Optional input files of experiments, in the folder of traces."""

from __future__ import annotations

from pathlib import Path

from cbnet_lab.experiments.experiment import ExperimentContext


def dictionary(context: ExperimentContext) -> Path | None:
    """Return the file of dictionary words; None: use the system's words, or invented ones."""
    return _existing(context, "words/american-english.txt.gz")


def news_terms(context: ExperimentContext) -> Path | None:
    """Return the file of the most frequent terms of a news corpus; None: use the built-in words."""
    return _existing(context, "news/top_terms.tsv")


def _existing(context: ExperimentContext, name: str) -> Path | None:
    path = None if context.traces is None else context.traces / name
    return path if path is not None and path.is_file() else None
