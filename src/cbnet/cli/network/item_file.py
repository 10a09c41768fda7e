"""Item file: what does a holder have? JSON Lines, as `cbnet sub --json` prints them.

    {"message": {"symbol": "A", "price": 3, "#": ["quote"]}, "payload": "any text"}

`encoding` may say `base64`, and `keep` for how many seconds routers may cache it; other members play no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from cbnet.cli.network.payload_text import payload_of
from cbnet.errors import FileError, InputError
from cbnet.files import read_bytes
from cbnet.language import Message
from cbnet.language.roles import filter_of

if TYPE_CHECKING:
    from cbnet.network import Item


def read_items(path: Path) -> list[Item]:
    """Return the items of a file; all its mistakes together, if it has some."""
    lines = read_bytes(path).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    items: list[Item] = []
    mistakes: list[InputError] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                items.append(_item(line))
            except InputError as error:
                mistakes.append(error.at(file=str(path), line=number))
    if mistakes:
        raise FileError(str(path), mistakes)
    return items


def first_item(items: Sequence[Item], request: Message) -> Item | None:
    """Return the first item that a request asks for."""
    wanted = filter_of(request)
    return next((item for item in items if wanted.matches(item.message)), None)


def _item(line: bytes) -> Item:
    from cbnet.network import Item

    try:
        said = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"not a JSON object: {error}") from None
    if not isinstance(said.get("message"), dict):
        raise InputError("the item has no message", hint='write {"message": {"name": "value"}, "payload": "text"}')
    keep = said.get("keep")
    if keep is not None and (type(keep) not in (int, float) or not 0 <= keep <= 1e12):
        raise InputError(f"it cannot be kept for {keep!r} seconds", hint="use a number, 0 for no caching")
    return Item(Message.from_dict(said["message"]), payload_of(said), keep)
