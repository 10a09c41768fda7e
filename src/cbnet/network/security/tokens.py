"""Tokens: how does a client show who it is, and what does a router keep to know it? The token, and a hash of it.

    token   ticker.hMfT4Q…43 characters           the client's, to be kept secret: its name, and 256 random bits
    hash    sha256:SALT:HEX                       the router's: whoever reads it cannot make the token of it

One round of a hash is enough: there are too many tokens to try them. Hashes are compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cbnet.errors import InputError
from cbnet.files import read_text
from cbnet.network.protocol.fields import MAX_TOKEN_LENGTH, check_name

VARIABLE = "CBNET_TOKEN"
_BYTES = 32
_SALT = 16
_KIND = "sha256"


class NewToken(NamedTuple):
    """A token that was just made; the token itself is kept nowhere."""

    token: str
    hash: str


def new_token(name: str) -> NewToken:
    """Make a token for a client."""
    check_name("client", name)
    token = f"{name}.{secrets.token_urlsafe(_BYTES)}"
    return NewToken(token, _hash(token, secrets.token_hex(_SALT)))


def token_owner(token: str) -> str:
    """Return the name of the client whose token it is, or says to be."""
    return token.rpartition(".")[0]


def token_matches(token: str, hash: str | None) -> bool:
    """Return whether a token has a hash; it takes as long if there is none."""
    expected = hash or _hash("", "")
    shown = _hash(token, expected.split(":")[1])
    return hmac.compare_digest(shown.encode(), expected.encode()) and hash is not None


def parse_token_hash(said: object, where: str) -> str:
    """Return a hash as it stands in a file, or say that it is none."""
    if isinstance(said, str):
        kind, _, rest = said.partition(":")
        salt, _, digest = rest.partition(":")
        if kind == _KIND and salt and len(digest) == 64 and set(digest) <= set("0123456789abcdef"):
            return said
    raise InputError(
        f"token in {where} is not the hash of a token",
        hint="make both with `cbnet token NAME`; the hash is for the router",
    )


def parse_token(token: str) -> str:
    """Return a token, or say that it is none; it is never quoted."""
    name, dot, secret = token.strip().rpartition(".")
    if not dot or not name or not secret or len(token) > MAX_TOKEN_LENGTH or not token.strip().isprintable():
        raise InputError("this is not a token", hint="a token is one line, such as `cbnet token NAME` prints")
    return token.strip()


def resolve_token(said: str | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the token that is said, as text or as @FILE, or else that of the environment."""
    text = said or environment.get(VARIABLE)
    if not text:
        return None
    if not text.startswith("@"):
        return parse_token(text)
    return parse_token(read_text(Path(text[1:])))


def _hash(token: str, salt: str) -> str:
    return f"{_KIND}:{salt}:{hashlib.sha256((salt + token).encode()).hexdigest()}"
