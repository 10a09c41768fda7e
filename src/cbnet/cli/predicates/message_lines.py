"""Message lines: which messages stand in a stream of JSON Lines, read as fast as they come?

A line is decoded by msgspec and encoded by the kernel: 1.2 µs for 5 attributes, where `json.loads`
alone takes 2.2. What either refuses is read again, member by member, and so gets the error of
`matching.message_files` with its exact text and place. Both accept no line that it refuses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from cbnet.errors import InputError
from cbnet.matching.files.message_files import read_messages

if TYPE_CHECKING:
    from cbnet._kernels.message_encoding import Batch, Symbols
    from cbnet.language import Message

_CHUNK = 1 << 18  # bytes read at a time: some thousand lines
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_decoded = msgspec.json.Decoder(dict[str, Any]).decode
_count_pairs = json.JSONDecoder(object_pairs_hook=len).decode


@dataclass
class EncodedLines:
    """Some lines of a stream, encoded; blank ones are left out."""

    batch: Batch
    lines: list[bytes] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)  # of the lines, counted from 1
    outcomes: list[int | InputError] = field(default_factory=list)  # the row in the batch, or what is wrong

    def append(self, number: int, line: bytes, outcome: int | InputError) -> None:
        """Add what has come of a line."""
        self.numbers.append(number)
        self.lines.append(line)
        self.outcomes.append(outcome)


def read_encoded(read: Callable[[int], bytes], symbols: Symbols) -> Iterator[EncodedLines]:
    """Yield the lines of a stream as they come, some thousand together where they are there."""
    first = 1
    for lines in _line_groups(read):
        if first == 1:
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
        yield encoded_lines(lines, first, symbols)
        first += len(lines)


def encoded_lines(lines: list[bytes], first: int, symbols: Symbols) -> EncodedLines:
    """Return lines, of which the first has that number, encoded."""
    from cbnet._kernels.message_encoding import Batch

    batch = Batch()
    encoded = EncodedLines(batch)
    for number, line in enumerate(lines, first):
        members = plain_members(line)
        if members is not None and batch.add(symbols, members):
            encoded.append(number, line, len(batch) - 1)  # rows of what was refused lie between
        elif (message := message_of(line)) is not None:
            encoded.append(number, line, _outcome(message, batch, symbols, number))
    return encoded


def _outcome(message: Message | InputError, batch: Batch, symbols: Symbols, number: int) -> int | InputError:
    if isinstance(message, InputError):
        return message.at(line=number)
    batch.add(symbols, message.to_dict())
    return len(batch) - 1


def message_of(line: bytes) -> Message | InputError | None:
    """Return the message of a line, or what is wrong with it; None if it is blank."""
    # Behind an empty line, because a byte order mark may begin the first line of a file only.
    return next((message for _, message in read_messages((b"", line))), None)


def plain_members(line: bytes) -> dict[str, Any] | None:
    """Return the members of a JSON object with distinct names; None if the line holds anything else."""
    try:
        members = _decoded(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    # As many colons as members: no name stands twice. With more, a string holds some, or one does.
    if line.count(b":") == len(members) or _count_pairs(line.decode()) == len(members):
        return members
    return None


def _line_groups(read: Callable[[int], bytes]) -> Iterator[list[bytes]]:
    """Yield the whole lines of each piece that is read, without their ends."""
    begun: list[bytes] = []  # pieces of a line whose end is not read yet
    while piece := read(_CHUNK):
        *lines, rest = piece.split(b"\n")
        if lines:
            lines[0] = b"".join((*begun, lines[0]))
            begun.clear()
            yield lines
        begun.append(rest)
    if any(begun):
        yield [b"".join(begun)]
