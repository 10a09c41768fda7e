"""Simulated: which network and which messages does a simulation get?"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbnet.errors import FileError, InputError
from cbnet.files import unreadable

if TYPE_CHECKING:
    from cbnet.lab.workload import Forwarding2002
    from cbnet.language import Filter, Message, Predicate
    from cbnet.routing import Network
    from cbnet.topology import Graph

_SHOWN = 20  # mistakes of one file
_MOST_FILTERS = 1_000_000
_MEETING = 3  # filters that a made message meets, at most, if its values allow it


def read_receivers(path: Path, graph: Graph) -> dict[int, Predicate]:
    """Return the predicates of a file, whose interfaces are names of nodes; unknown ones are reported together."""
    from cbnet.language import Predicate
    from cbnet.matching.files.rule_files import open_rule_file

    receivers: dict[int, Predicate] = {}
    mistakes: list[InputError] = []
    for name, predicate in open_rule_file(path).predicates.items():
        try:
            node = graph.id(name)
        except InputError as error:
            mistakes.append(error.at(file=str(path)))
            if len(mistakes) == _SHOWN:  # to look for names that are near to thousands of others takes minutes
                mistakes.append(InputError("there may be more", hint="correct these first", file=str(path)))
                break
            continue
        receivers[node] = receivers.get(node, Predicate()) | predicate
    if mistakes:
        raise FileError(str(path), mistakes)
    return receivers


def random_receivers(graph: Graph, said: str, seed: int) -> dict[int, Predicate]:
    """Return random receivers with random predicates, as a text such as receivers=50,filters=3 asks."""
    from cbnet.lab.workload import filters
    from cbnet.language import Predicate
    from cbnet.matching.storage.arrow_filters import columns_from_arrow

    wanted = _wanted(said)
    if not 1 <= wanted["receivers"] <= len(graph):
        raise InputError(f"the network has {len(graph):,} nodes, and cannot have {wanted['receivers']:,} receivers")
    if wanted["receivers"] * wanted["filters"] > _MOST_FILTERS:
        raise InputError(f"--random makes at most {_MOST_FILTERS:,} filters in all", hint="ask for fewer")
    columns = columns_from_arrow(filters(_mix(wanted, messages=1, seed=seed)))
    nodes = random.Random(f"receivers {seed}").sample(range(len(graph)), wanted["receivers"])
    owned: dict[int, list[Filter]] = {node: [] for node in nodes}
    for place, target in enumerate(columns.targets.tolist()):
        owned[nodes[target]].append(columns.filter(place))
    return {node: Predicate(own) for node, own in owned.items()}


def random_messages(said: str, count: int, seed: int) -> list[Message]:
    """Return messages from the same mix as the predicates of `random_receivers`."""
    from cbnet.lab.workload import as_messages, messages
    from cbnet.language import Message

    return [Message.from_dict(members) for members in as_messages(messages(_mix(_wanted(said), count, seed)))]


def _mix(wanted: dict[str, int], messages: int, seed: int) -> Forwarding2002:
    """Return the workload of [2002 §5.1] with fewer names and words, so that one receiver in ten is interested."""
    from cbnet.lab.workload import Forwarding2002

    sizes: dict[str, Any] = {"I": wanted["receivers"], "f_l": wanted["filters"], "f_h": wanted["filters"] + 1}
    return Forwarding2002(
        M=messages, names=10, strings=20, integers=20, c_l=1, c_h=4, a_l=5, a_h=11, seed=seed, **sizes
    )


def _wanted(said: str) -> dict[str, int]:
    wanted = {"receivers": 50, "filters": 3}
    met = set()
    for part in filter(None, (part.strip() for part in said.split(","))):
        key, _, value = part.partition("=")
        if key in met:
            raise InputError(f"--random says {key} twice", hint="keep one of the two")
        met.add(key)
        if key not in wanted or not re.fullmatch("[1-9][0-9]{0,8}", value):
            raise InputError(f"{part!r} is not understood", hint="write --random receivers=50,filters=3")
        wanted[key] = int(value)
    return wanted


def made_messages(predicates: Sequence[Predicate], count: int, seed: int) -> list[Message]:
    """Return random messages of which each matches at least one of the predicates.

    A message has the values of one filter's witness, and those of others as far as their names are still free.
    """
    from cbnet.language import Message, Predicate, witness

    filters = dict.fromkeys(each for predicate in predicates for each in predicate.filters)
    found = [message for each in filters if (message := witness(Predicate([each]))) is not None]
    rng = random.Random(f"messages {seed}")
    if not found:
        raise InputError("no message can match these predicates", hint="give messages of your own: --messages FILE")
    messages = []
    for _ in range(count):
        chosen = rng.choices(found, k=rng.randint(1, _MEETING))
        attributes = {name: value for each in reversed(chosen) for name, value in each.attributes.items()}
        messages.append(Message(attributes, frozenset().union(*(each.tags for each in chosen))))
    return messages


def read_message_file(path: Path) -> list[Message]:
    """Return the messages of a file of JSON Lines; all its mistakes are reported together."""
    from cbnet.matching.files.message_files import read_messages

    try:
        with path.open("rb") as file:
            found = [message for _, message in read_messages(file)]
    except OSError as error:
        raise unreadable(path, error) from None
    mistakes = [error.at(file=str(path)) for error in found if isinstance(error, InputError)]
    if mistakes:
        raise FileError(str(path), mistakes)
    if not found:
        raise InputError("there is no message", file=str(path))
    return [message for message in found if not isinstance(message, InputError)]


def chosen_senders(graph: Graph, count: int | None, sources: Sequence[str], seed: int) -> list[int]:
    """Return the nodes that send: those named, or so many random ones, or all."""
    if sources and count is not None:
        raise InputError("who sends?", hint="give either --senders or --source")
    if sources:
        return [graph.id(name) for name in sources]
    if count is None:
        return list(range(len(graph)))
    if not 1 <= count <= len(graph):
        raise InputError(f"the network has {len(graph):,} nodes, and cannot have {count:,} senders")
    return random.Random(f"senders {seed}").sample(range(len(graph)), count)


def traffic(network: Network, messages: Sequence[Message], seed: int) -> list[tuple[int, Message]]:
    """Return the messages, each with a random sender."""
    rng = random.Random(f"sources {seed}")
    return [(rng.choice(network.senders), message) for message in messages]
