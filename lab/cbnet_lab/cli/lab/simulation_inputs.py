"""Receivers, messages and senders of a simulation, from files or random."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cbnet.errors import FileError, InputError
from cbnet.files import unreadable
from cbnet.language import Filter, Message, Predicate, witness
from cbnet.matching.files.message_files import read_messages
from cbnet.matching.files.rule_files import open_rule_file
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.topology import Graph
from cbnet_lab.workload import Forwarding2002, as_messages, filters, messages

_MAX_ERRORS = 20  # of one file
_MAX_FILTERS = 1_000_000
_MAX_WITNESSES = 3  # filters whose values a random message combines


def read_receivers(path: Path, graph: Graph) -> dict[int, Predicate]:
    """Return the rules of a file, whose interfaces are nodes; unknown nodes are reported together."""
    receivers: dict[int, Predicate] = {}
    errors: list[InputError] = []
    for name, predicate in open_rule_file(path).predicates.items():
        try:
            node = graph.id(name)
        except InputError as error:
            errors.append(error.at(file=str(path)))
            if len(errors) == _MAX_ERRORS:  # suggesting names for thousands of unknown ones takes minutes
                errors.append(InputError("there may be more", hint="correct these first", file=str(path)))
                break
            continue
        receivers[node] = receivers.get(node, Predicate()) | predicate
    if errors:
        raise FileError(str(path), errors)
    return receivers


def random_receivers(graph: Graph, text: str, seed: int) -> dict[int, Predicate]:
    """Return random receivers with random predicates, for a text such as `receivers=50,filters=3`."""
    sizes = _sizes(text)
    if not 1 <= sizes["receivers"] <= len(graph):
        raise InputError(f"{sizes['receivers']:,} receivers are too many for a network of {len(graph):,} nodes")
    if sizes["receivers"] * sizes["filters"] > _MAX_FILTERS:
        raise InputError(f"--random supports at most {_MAX_FILTERS:,} filters in total", hint="use fewer")
    columns = columns_from_arrow(filters(_workload(sizes, count=1, seed=seed)))
    nodes = random.Random(f"receivers {seed}").sample(range(len(graph)), sizes["receivers"])
    owned: dict[int, list[Filter]] = {node: [] for node in nodes}
    for index, target in enumerate(columns.targets.tolist()):
        owned[nodes[target]].append(columns.filter(index))
    return {node: Predicate(own) for node, own in owned.items()}


def random_messages(text: str, count: int, seed: int) -> list[Message]:
    """Return messages from the same workload as the predicates of `random_receivers`."""
    return [Message.from_dict(members) for members in as_messages(messages(_workload(_sizes(text), count, seed)))]


def _workload(sizes: dict[str, int], count: int, seed: int) -> Forwarding2002:
    """Return the workload of [2002 §5.1] with fewer names and words, so that one receiver in ten is interested."""
    own: dict[str, Any] = {"I": sizes["receivers"], "f_l": sizes["filters"], "f_h": sizes["filters"] + 1}
    return Forwarding2002(M=count, names=10, strings=20, integers=20, c_l=1, c_h=4, a_l=5, a_h=11, seed=seed, **own)


def _sizes(text: str) -> dict[str, int]:
    sizes = {"receivers": 50, "filters": 3}
    seen = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = part.partition("=")
        if key in seen:
            raise InputError(f"--random has {key} twice", hint="give it once")
        seen.add(key)
        if key not in sizes or not re.fullmatch("[1-9][0-9]{0,8}", value):
            raise InputError(f"--random: unknown size {part!r}", hint="write --random receivers=50,filters=3")
        sizes[key] = int(value)
    return sizes


def matching_messages(predicates: Sequence[Predicate], count: int, seed: int) -> list[Message]:
    """Return random messages, each matching at least one of the predicates.

    A message has the values of one filter's witness, and those of other witnesses for other names.
    """
    distinct = dict.fromkeys(each for predicate in predicates for each in predicate.filters)
    witnesses = [message for each in distinct if (message := witness(Predicate([each]))) is not None]
    rng = random.Random(f"messages {seed}")
    if not witnesses:
        raise InputError("no message can match these rules", hint="give a message file: --messages FILE")
    combined = []
    for _ in range(count):
        chosen = rng.choices(witnesses, k=rng.randint(1, _MAX_WITNESSES))
        attributes = {name: value for each in reversed(chosen) for name, value in each.attributes.items()}
        combined.append(Message(attributes, frozenset().union(*(each.tags for each in chosen))))
    return combined


def read_message_file(path: Path) -> list[Message]:
    """Return the messages of a JSON Lines file; its errors are reported together."""
    try:
        with path.open("rb") as file:
            lines = [message for _, message in read_messages(file)]
    except OSError as error:
        raise unreadable(path, error) from None
    errors = [error.at(file=str(path)) for error in lines if isinstance(error, InputError)]
    if errors:
        raise FileError(str(path), errors)
    if not lines:
        raise InputError("the file has no messages", file=str(path))
    return [message for message in lines if not isinstance(message, InputError)]


def select_senders(graph: Graph, count: int | None, sources: Sequence[str], seed: int) -> list[int]:
    """Return the nodes that send: the named ones, a number of random ones, or all."""
    if sources and count is not None:
        raise InputError("--senders and --source exclude each other", hint="give one of them")
    if sources:
        return [graph.id(name) for name in sources]
    if count is None:
        return list(range(len(graph)))
    if not 1 <= count <= len(graph):
        raise InputError(f"--senders must be from 1 to {len(graph):,}, not {count:,}")
    return random.Random(f"senders {seed}").sample(range(len(graph)), count)
