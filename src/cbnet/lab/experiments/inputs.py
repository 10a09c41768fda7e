"""Inputs: which of the files that are given does an experiment read? None of them is needed."""

from __future__ import annotations

from pathlib import Path

from cbnet.lab.experiments.experiment import Context


def dictionary(context: Context) -> Path | None:
    """Return a dictionary of words; None for the system's, or invented words."""
    return _there(context, "words/american-english.txt.gz")


def news_terms(context: Context) -> Path | None:
    """Return the commonest terms of a corpus of news; None for words of our own."""
    return _there(context, "news/top_terms.tsv")


def _there(context: Context, name: str) -> Path | None:
    path = None if context.traces is None else context.traces / name
    return path if path is not None and path.is_file() else None
