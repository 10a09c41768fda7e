"""Signatures of records, for a network whose routers do not all trust each other.

A router without `public_keys` accepts every record from a linked router, and one without `signing_key` signs none; with
`public_keys`, a record of any other owner, or without the signature of its owner, is refused. The record of a home that
routers share is signed with the key of the home, `home_key`, by the router that holds it.

A signature (Ed25519) covers the network's name and the whole record but its age, to which every router adds. It does
not expire. A signed record of an earlier time therefore only counts where no later one is known. For this, a router
with a key numbers its records from the time of its start, so that each is newer than those before a restart.
"""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from cbnet.errors import InputError
from cbnet.files import read_bytes
from cbnet.network.protocol.fields import check_name
from cbnet.network.protocol.frames import GroupRecord, HomeRecord, LinkRecord, Record
from cbnet.text_positions import Keys
from cbnet.toml_files import TomlDocument, toml, toml_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PUBLIC_KEYS: Final = "public_keys"  # the table of a configuration, or of a file
_KIND = "ed25519:"
_CONTEXT = "cbnet record"  # a key that also signs something else signs no record by it
_PUBLIC_BYTES = 32
_HINT = "make a key pair with `cbnet keypair NAME`"
_encode = msgspec.msgpack.Encoder(order="deterministic").encode


@dataclass(frozen=True)
class RecordSignatures:
    """The keys of one router: its own, and those of the routers whose records it accepts."""

    network: str = ""
    seed: bytes | None = field(default=None, repr=False)  # the private key; None: records are not signed
    public_keys: Mapping[str, bytes] | None = None  # by router or shared home; None: signatures are not required
    first: int = field(default=0, compare=False)  # sequence number that the router's own records begin after
    home_seed: bytes | None = field(default=None, repr=False)  # the private key of a home that routers share

    @property
    def are_required(self) -> bool:
        """Whether records are refused without the signature of their owner."""
        return self.public_keys is not None

    def may_own(self, router: str) -> bool:
        """Return whether a router can have a record that is accepted."""
        return self.public_keys is None or router in self.public_keys

    def sign(self, record: Record) -> Record:
        """Return an own record with its signature; without a key, as it is."""
        if self.seed is None:
            return record
        seed = self.home_seed if self.home_seed is not None and isinstance(record, HomeRecord) else self.seed
        return replace(record, signature=_private_key(seed).sign(self._signed(record)))

    def problem(self, record: LinkRecord | HomeRecord | GroupRecord) -> str:
        """Return why a record is refused; empty if it is accepted."""
        if self.public_keys is None:
            return ""
        key = self._verifiers.get(record.owner)
        if key is None:
            return f"{PUBLIC_KEYS} has no key of {record.owner!r}"
        if not record.signature:
            return "it is not signed"
        from cryptography.exceptions import InvalidSignature

        with suppress(InvalidSignature):
            key.verify(record.signature, self._signed(record))
            return ""
        return "the signature is not that of its owner"

    def _signed(self, record: LinkRecord | HomeRecord | GroupRecord) -> bytes:
        """Return the bytes that a signature covers."""
        bare: LinkRecord | HomeRecord | GroupRecord = replace(record, signature=b"")
        return _encode((_CONTEXT, self.network, replace(bare, age=0) if isinstance(bare, LinkRecord) else bare))

    @cached_property
    def _verifiers(self) -> dict[str, Ed25519PublicKey]:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        return {name: Ed25519PublicKey.from_public_bytes(key) for name, key in (self.public_keys or {}).items()}


NO_SIGNATURES: Final = RecordSignatures()


@cache
def _private_key(seed: bytes) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(seed)


# --- keys


class KeyPair(NamedTuple):
    """A new private key in PEM format, and its public key as in a configuration file."""

    private: str
    public: str


def new_key_pair(router: str) -> KeyPair:
    """Create the keys of a router."""
    check_name("router", router)
    _require_package()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )  # fmt: skip
    return KeyPair(pem.decode(), _text(key.public_key().public_bytes_raw()))


def public_key_line(router: str, key: str) -> str:
    """Return the line of `public_keys` for a router."""
    return f"{toml_key(router)} = {toml(key)}"


def _text(key: bytes) -> str:
    return _KIND + base64.b64encode(key).decode()


def parse_public_key(router: str, value: Any) -> bytes:
    """Return a public key from a configuration file, or raise an `InputError`."""
    check_name("router", router)
    if isinstance(value, str) and value.startswith(_KIND):
        with suppress(binascii.Error, ValueError):
            key = base64.b64decode(value.removeprefix(_KIND), validate=True)
            if len(key) == _PUBLIC_BYTES:
                return key
    raise InputError(f"{PUBLIC_KEYS}.{router} is not a public key", hint=_HINT)


def read_public_keys(document: TomlDocument, at: Keys) -> dict[str, bytes]:
    """Return the public keys in a table of a file, after noting its mistakes."""
    return document.table(at, parse_public_key, f"write a table [{PUBLIC_KEYS}] with a line for each router")


def read_private_key(path: Path) -> bytes:
    """Return the private key in a file, or raise an `InputError`."""
    _require_package()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    data = read_bytes(path)
    try:
        key = load_pem_private_key(data, None)
    except TypeError:
        hint = "use a key without a password"
        raise InputError("the key has a password, which is not supported", hint=hint, file=str(path)) from None
    except (ValueError, UnsupportedAlgorithm):
        raise InputError("not a private key in PEM format", hint=_HINT, file=str(path)) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError("not an Ed25519 key", hint=_HINT, file=str(path))
    return key.private_bytes_raw()


def read_signatures(values: Mapping[str, Any]) -> RecordSignatures:
    """Return the keys in the values of a configuration."""
    name, given, public = values["name"], values["signing_key"], values[PUBLIC_KEYS]
    home, home_key = values["home"] or name, values["home_key"]
    if not given:
        if public is not None or home_key:
            key = PUBLIC_KEYS if public is not None else "home_key"
            raise InputError(f"{key} without signing_key", hint=f"{_HINT}, and set signing_key to its file")
        return NO_SIGNATURES
    if home_key and home == name:
        raise InputError("home_key without a home of its own", hint="leave it out, or set `home`")
    if home != name and not home_key:
        hint = f"make one with `cbnet keypair {home}`, give it to all routers of the home, and set home_key to its file"
        raise InputError(f"the home {home!r} has no key, and records are signed", hint=hint)
    signatures = RecordSignatures(
        values["network"],
        read_private_key(Path(given)),
        _public_keys(public),
        time.time_ns() // 1_000_000,
        read_private_key(Path(home_key)) if home_key else None,
    )
    _check_own(signatures, "signing_key", name, signatures.seed)
    _check_own(signatures, "home_key", home, signatures.home_seed)
    return signatures


def _check_own(signatures: RecordSignatures, key: str, owner: str, seed: bytes | None) -> None:
    """Raise an `InputError` if the public keys are others than that of a private key."""
    if signatures.public_keys is None or seed is None:
        return
    own = _private_key(seed).public_key().public_bytes_raw()
    if signatures.public_keys.get(owner) != own:
        hint = f"write the line {public_key_line(owner, _text(own))}"
        raise InputError(f"{PUBLIC_KEYS} does not have the public key of {key} for {owner!r}", hint=hint)


def _public_keys(value: str | Mapping[str, Any] | None) -> Mapping[str, bytes] | None:
    if isinstance(value, str):
        return TomlDocument(Path(value)).only_table(PUBLIC_KEYS, read_public_keys)
    return None if value is None else {name: parse_public_key(name, text) for name, text in value.items()}


def _require_package() -> None:
    try:
        import cryptography  # noqa: F401
    except ModuleNotFoundError:
        hint = "pip install 'cbnet[signatures]'"
        raise InputError("signing_key needs the package cryptography", hint=hint) from None
