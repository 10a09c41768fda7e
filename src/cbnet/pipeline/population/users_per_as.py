"""Numbers of users of each AS, and the assignment of clusters of users to nodes [2014 §4.2.2].

The paper takes users per AS from an estimate. If such a file is given, an AS that is not in it has, per link, the
median of the ASes of its class in the file. (The mean is that of a few large providers, which no estimate leaves out.)

Without a file, users are distributed by class and degree: of all users, Tier-1 ASes have 2 %, large ISPs 25 %, small
ones 20 %, stubs 53 % (by a 2026 estimate of users per AS, for the ASes of 2012), in each class in proportion to the
degree; in a graph without AS relations in proportion to the degree alone.

Clusters are not drawn at random: an AS gets its share, rounded, as consecutive numbers. So the descriptors of an AS are
contiguous in the data.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import FileError, InputError
from cbnet.files import unreadable
from cbnet.topology import AsClass, Graph, as_classes

Weights: TypeAlias = NDArray[np.float64]

_SHARES = {AsClass.TIER_1: 0.02, AsClass.LARGE: 0.25, AsClass.SMALL: 0.20, AsClass.STUB: 0.53}
_MAX_ERRORS = 20


def users_from_file(graph: Graph, path: Path, *, name: str = "asn", users: str = "users") -> Weights:
    """Read the users of each node from a CSV file with a header, plain or gzip: float64[n].

    name, users: columns. Rows of nodes that are not in the graph are ignored.
    """
    ids = {str(name): node for node, name in enumerate(graph.names)}
    weights, in_file = np.zeros(len(graph)), np.zeros(len(graph), dtype=bool)
    mistakes: list[InputError] = []
    for line, row in _rows(path, (name, users)):
        node = ids.get(row[name].strip())
        count = _count(row[users])
        if count is None:
            mistakes.append(InputError(f"{row[users]!r} is not a number of users", line=line, hint="write 0 or more"))
        elif node is not None:
            weights[node] += count
            in_file[node] = True
        if len(mistakes) == _MAX_ERRORS:
            break
    if mistakes:
        raise FileError(str(path), mistakes)
    if not weights.any():
        raise InputError("no node of the graph has users", hint="use the names of the graph's nodes", file=str(path))
    return _with_absent(graph, weights, in_file)


def _with_absent(graph: Graph, weights: Weights, in_file: NDArray[np.bool_]) -> Weights:
    """Return the users of all nodes; those of nodes that are not in the file, by class and degree."""
    degrees = np.maximum(1, graph.degrees).astype(np.float64)
    classes = np.zeros(len(graph)) if graph.relations is None else as_classes(graph)
    per_link = weights / degrees
    for of_class in np.unique(classes[~in_file]):
        known = in_file & (classes == of_class)
        absent = ~in_file & (classes == of_class)
        weights[absent] = np.median(per_link[known if known.any() else in_file]) * degrees[absent]
    return weights


def users_by_class(graph: Graph) -> Weights:
    """Return the relative number of users of each node, by class and degree: float64[n]."""
    degrees = graph.degrees.astype(np.float64)
    if graph.relations is None:
        return degrees
    classes = as_classes(graph)
    weights = np.zeros(len(graph))
    for of_class, share in _SHARES.items():
        members = classes == of_class
        if members.any():
            weights[members] = share * degrees[members] / degrees[members].sum()
    return weights


def first_clusters(weights: Weights, clusters: int) -> NDArray[np.int64]:
    """Return the first cluster of each node, and the number of clusters: int64[n + 1]."""
    if not (weights >= 0).all() or not weights.any():
        raise InputError("users per node must be 0 or more, and not all 0")
    if clusters < 0:
        raise InputError(f"{clusters} clusters: give 0 or more")
    shares = np.concatenate([[0.0], np.cumsum(weights)])
    firsts: NDArray[np.int64] = np.floor(shares / shares[-1] * clusters + 0.5).astype(np.int64)
    return firsts


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") if _is_gzip(path) else path.open(encoding="utf-8") as file:
            reader = csv.DictReader(file)
            missing = [column for column in columns if column not in (reader.fieldnames or ())]
            if missing:
                raise InputError(f"there is no column {missing[0]!r}", file=str(path), line=1)
            for row in reader:
                yield reader.line_num, {column: row[column] or "" for column in columns}
    except OSError as error:
        raise unreadable(path, error) from None
    except (UnicodeDecodeError, EOFError, zlib.error, csv.Error):
        raise InputError("cannot read: the file is damaged, or not UTF-8", file=str(path)) from None


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _count(text: str) -> float | None:
    try:
        count = float(text)
    except ValueError:
        return None
    return count if 0 <= count < float("inf") else None
