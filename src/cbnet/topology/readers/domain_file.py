"""Domain files: one line per node, with its name and its domain."""

from __future__ import annotations

from pathlib import Path

from cbnet.errors import FileError, InputError
from cbnet.files import read_text
from cbnet.topology.graph.graph import Graph

_MAX_ERRORS = 20  # of one file


def read_domains(path: Path, graph: Graph) -> list[str]:
    """Return the domain of each node; the errors of the file are reported together."""
    domains: dict[int, str] = {}
    errors: list[InputError] = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        text = line.partition("#")[0].strip()
        if text and len(errors) < _MAX_ERRORS:
            try:
                _add(text, graph, domains)
            except InputError as error:
                errors.append(error.at(file=str(path), line=number))
    if not errors and len(domains) < len(graph):
        missing = next(name for node, name in enumerate(graph.names) if node not in domains)
        errors.append(InputError(f"the node {missing} has no domain", hint=f"write {missing} NAME", file=str(path)))
    if errors:
        raise FileError(str(path), errors)
    return [domains[node] for node in range(len(graph))]


def _add(text: str, graph: Graph, domains: dict[int, str]) -> None:
    fields = [field.strip() for field in text.split(",")] if "," in text else text.split()
    if len(fields) != 2 or not all(fields):
        raise InputError(f"{text!r} is not a node and its domain", hint="write two names: a north")
    node = graph.id(fields[0])
    if node in domains:
        raise InputError(f"the node {fields[0]} already has the domain {domains[node]}", hint="keep one line")
    domains[node] = fields[1]
