"""Client tokens, and the hashes by which routers verify them.

    token   ticker.hMfT4Q…43 characters           the client's secret: its name and 256 random bits
    hash    sha256:SALT:HEX                       the router's; it does not reveal the token

One round of hashing is enough: 256 random bits cannot be guessed. Hashes are compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from cbnet.errors import InputError
from cbnet.files import read_text
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.fields import MAX_TOKEN_LENGTH, check_name

VARIABLE = "CBNET_TOKEN"
_BYTES = 32
_SALT = 16
_KIND = "sha256"


class NewToken(NamedTuple):
    """A new token with its hash; the token itself is stored nowhere."""

    token: str
    hash: str


def new_token(name: str) -> NewToken:
    """Create a token for a client."""
    check_name("client", name)
    token = f"{name}.{secrets.token_urlsafe(_BYTES)}"
    return NewToken(token, _hash(token, secrets.token_hex(_SALT)))


def token_owner(token: str) -> str:
    """Return the name of the client that a token claims to belong to."""
    return token.rpartition(".")[0]


def token_matches(token: str, hash: str | None) -> bool:
    """Return whether a token has this hash; without a hash, return False in the same time."""
    expected = hash or _hash("", "")
    actual = _hash(token, expected.split(":")[1])
    return hmac.compare_digest(actual.encode(), expected.encode()) and hash is not None


def parse_token_hash(value: object, where: str) -> str:
    """Return a token hash from a configuration file, or raise an `InputError`."""
    if isinstance(value, str):
        kind, _, rest = value.partition(":")
        salt, _, digest = rest.partition(":")
        if kind == _KIND and salt and len(digest) == 64 and set(digest) <= set("0123456789abcdef"):
            return value
    raise InputError(
        f"token in {where} is not the hash of a token",
        hint="create both with `cbnet token NAME`; the hash is for the router",
    )


def parse_token(token: str) -> str:
    """Return a token without surrounding blanks, or raise an `InputError`, which never quotes it."""
    name, dot, secret = token.strip().rpartition(".")
    if not dot or not name or not secret or len(token) > MAX_TOKEN_LENGTH or not token.strip().isprintable():
        raise InputError("not a token", hint="a token is one line, as `cbnet token NAME` prints it")
    return token.strip()


def token_for(routers: Iterable[Address], token: str, *, is_encrypted: bool) -> str:
    """Return the token to send to routers; raise an `InputError` if it would reach other machines unencrypted."""
    remote = [str(address) for address in routers if not address.is_loopback]
    if remote and not is_encrypted:
        raise InputError(
            f"the token would be sent to {remote[0]} without TLS",
            hint="name the authority that signed the router's certificate (tls=, --authority)",
        )
    return parse_token(token)


def resolve_token(option: str | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the token of an option (text or @FILE), or else of the environment variable."""
    text = option or environment.get(VARIABLE)
    if not text:
        return None
    if not text.startswith("@"):
        return parse_token(text)
    return parse_token(read_text(Path(text[1:])))


def _hash(token: str, salt: str) -> str:
    return f"{_KIND}:{salt}:{hashlib.sha256((salt + token).encode()).hexdigest()}"
