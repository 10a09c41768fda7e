"""Keys of routers whose records are signed, the same in every run."""

from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from cbnet.network.security.access import Access
from cbnet.network.security.record_signatures import RecordSignatures


def seed_of(name):
    return sha256(name.encode()).digest()


def public_keys(names):
    return {name: Ed25519PrivateKey.from_private_bytes(seed_of(name)).public_key().public_bytes_raw() for name in names}


def signatures(name, trusted=None, *, first=0, network="cbnet", home=""):
    """Return the keys of a router; trusted: the owners whose keys it has, None if it requires no signatures.

    home: the home that it shares with others, if any.
    """
    keys = None if trusted is None else public_keys(trusted)
    return RecordSignatures(network, seed_of(name), keys, first, seed_of(home) if home else None)


def signing(names, trusted=None):
    """Return the access rules of some routers, all with keys."""
    return {name: Access(signatures=signatures(name, trusted)) for name in names}
