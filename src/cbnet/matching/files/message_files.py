"""Message files: which messages does a file of JSON Lines hold? A bad line does not stop the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cbnet.errors import InputError, MessageFormatError
from cbnet.language.message import Message
from cbnet.language.syntax.json_form import message_from_json

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_messages(lines: Iterable[bytes]) -> Iterator[tuple[int, Message | InputError]]:
    """Yield the number of each line that is not blank, with its message or what is wrong with it."""
    for number, line in enumerate(lines, 1):
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if line.strip():
            try:
                yield number, message_from_json(line.decode().strip("\r\n"))
            except UnicodeDecodeError as error:
                column = len(line[: error.start].decode()) + 1
                yield (
                    number,
                    MessageFormatError("not UTF-8", hint="save the file as UTF-8", line=number, column=column),
                )
            except InputError as error:
                yield number, error.at(line=number)
