"""Runs of plain messages: of one publisher, with consecutive numbers, and stored together."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

import msgspec

from cbnet.network.durable.home_log.journal import HISTORY_ID, Entry
from cbnet.network.protocol.frames import DurablePublish

_decode = msgspec.msgpack.Decoder(tuple[dict[str, Any], list[str], bytes]).decode


class Run(NamedTuple):
    """Messages read from the bytes of a client."""

    end: int  # in the bytes
    publisher: int  # its number, which only the client and its routers know
    first: int  # sequence number
    floor: int
    timeout: float
    required: list[tuple[str, str]] | None  # as in `DurablePublish`
    kinds: Sequence[int]  # of each message: what it matches
    contents: list[bytes]

    def frame(self, index: int, timeout: float) -> DurablePublish:
        """Return the frame of one of the messages, with another timeout."""
        attributes, tags, payload = _decode(self.contents[index])
        return DurablePublish(
            self.publisher, self.first + index, self.floor, timeout, attributes, tags, payload, self.required
        )

    def counts(self, chosen: Mapping[int, Sequence[int]]) -> list[int]:
        """Return the number of durable subscriptions of each message; chosen: subscriptions of each kind."""
        sizes = {kind: len(ids) - (HISTORY_ID in ids) for kind, ids in chosen.items()}
        return [sizes[kind] for kind in self.kinds]

    def part(self, kinds: Collection[int]) -> RunPart:
        """Return the messages of some kinds."""
        if len(kinds) == len({*self.kinds}):
            return RunPart(len(self.contents), sum(map(len, self.contents)), None)
        is_chosen = [kind in kinds for kind in self.kinds]
        return RunPart(sum(is_chosen), sum(map(len, compress(self.contents, is_chosen))), is_chosen)


class RunPart:
    """The messages of a run that some subscriptions have in common."""

    def __init__(self, messages: int, bytes: int, is_chosen: Sequence[bool] | None) -> None:
        """Initialise; bytes: of the contents; is_chosen: of each message of the run; None: all are."""
        self.messages, self.bytes = messages, bytes
        self._is_chosen = is_chosen
        self.entries: Sequence[Entry] = ()  # once they are in the log
        self.positions = array("q")

    def take(self, entries: Sequence[Entry]) -> None:
        """Choose from the entries of the run."""
        self.entries = entries if self._is_chosen is None else [*compress(entries, self._is_chosen)]
        self.positions = array("q", [entry.position for entry in self.entries])
