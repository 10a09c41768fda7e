"""TLS: how are connections kept private, and how does each side show who it is? By certificates, over TLS 1.2 or later.

    a router        shows its certificate to all. Clients check that it is for the host that they dial; routers check
                    that the name in the Hello is in it
    its neighbours  must show one too, with their names as routers in it
    its clients     may show one, or must, as the router says

The names of a certificate are its subject alternative names of the kind dNSName; the common name plays no part. Who
trusts which authority is told by a file of certificates, or it is those of the system.

If one side does not trust the other, both are told why. The loops of asyncio and uvloop would close the connection
before the other side is told. So the failure is kept back until the alert is sent, and the other side hangs up.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from cbnet.errors import InputError
from cbnet.files import unreadable
from cbnet.network.errors import NotTrusted
from cbnet.network.protocol.addresses import Address

Protocol = TypeVar("Protocol", bound=asyncio.Protocol)
HANDSHAKE_TIMEOUT: Final = 3.0  # seconds until both sides must know who is there

_NO_CERTIFICATE: Final = "PEER_DID_NOT_RETURN_A_CERTIFICATE"


@dataclass(frozen=True)
class Tls:
    """What one side of a connection shows, and whom it trusts."""

    authority: str | Path | None = None  # a file of certificates; None: those of the system
    certificate: str | Path | None = None  # a file: that of this side, and those between it and the authority
    key: str | Path | None = None  # a file: the private key of the certificate; None: it is in the same file

    def __post_init__(self) -> None:
        if self.key is not None and self.certificate is None:
            raise InputError("a key without its certificate", hint="name the file of the certificate too")


class _Handshake(ssl.SSLObject):
    """A handshake that tells the other side why it fails."""

    _failure: ssl.SSLError | None = None

    def do_handshake(self) -> None:
        """Go on with the handshake."""
        if self._failure is not None:
            raise self._failure
        try:
            super().do_handshake()
        except ssl.SSLWantReadError:
            raise
        except ssl.SSLError as error:
            context = self.context
            assert isinstance(context, TlsContext)
            context.failed(error)
            if not isinstance(error, ssl.SSLCertVerificationError) and error.reason != _NO_CERTIFICATE:
                raise
            self._failure = error
            raise ssl.SSLWantReadError from None  # the loop sends the alert now


class TlsContext(ssl.SSLContext):
    """The settings of many connections."""

    sslobject_class = _Handshake
    on_failure: Callable[[str], None] | None = None  # told why a handshake failed
    failure: ssl.SSLError | None = None  # of the last handshake

    def failed(self, error: ssl.SSLError) -> None:
        """Take note of a handshake that failed."""
        self.failure = error
        if self.on_failure is not None:
            self.on_failure(tls_error_text(error))


def server_context(tls: Tls, *, needs_certificate: bool) -> TlsContext:
    """Return the settings for connections that are accepted; needs_certificate: the other side must show one."""
    if tls.certificate is None:
        raise InputError("no certificate is named", hint="name its file, and that of its key")
    context = _context(ssl.PROTOCOL_TLS_SERVER, tls)
    context.verify_mode = ssl.CERT_REQUIRED if needs_certificate else ssl.CERT_OPTIONAL
    return context


def client_context(tls: Tls, *, checks_host: bool = True) -> TlsContext:
    """Return the settings for connections that are dialled; checks_host: the certificate must be for the host."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT, tls)
    context.check_hostname = checks_host
    return context


def _context(protocol: int, tls: Tls) -> TlsContext:
    context = TlsContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if tls.authority is None:
            context.load_default_certs(
                ssl.Purpose.CLIENT_AUTH if protocol == ssl.PROTOCOL_TLS_SERVER else ssl.Purpose.SERVER_AUTH
            )
        else:
            _load(
                tls.authority, lambda: context.load_verify_locations(tls.authority), "the certificate of an authority"
            )
        if tls.certificate is not None:
            certificate, key = tls.certificate, tls.key
            _load(
                certificate,
                lambda: context.load_cert_chain(certificate, key, _no_password),
                "a certificate, with its key",
            )
    except ssl.SSLError as error:
        said = "the key is not that of the certificate" if error.reason == "KEY_VALUES_MISMATCH" else error.reason
        raise InputError(f"{said or error}", file=str(tls.key or tls.certificate)) from None
    return context


def _load(file: str | Path, load: Callable[[], None], what: str) -> None:
    try:
        load()
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise
        raise InputError(f"this is not {what}, in PEM", file=str(file)) from None
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else str(file)
        raise unreadable(name, error) from None


def _no_password() -> str:
    raise InputError("the key has a password, and nobody is there to say it", hint="use a key without one")


# --- connections


async def dial(make: Callable[[], Protocol], where: Address, context: TlsContext | None) -> Protocol:
    """Return an end of a connection to an address; `NotTrusted` if one side does not trust the other."""
    loop = asyncio.get_running_loop()
    if context is None:
        return (await loop.create_connection(make, where.host, where.port))[1]
    context.failure = None
    try:
        made = await loop.create_connection(
            make, where.host, where.port, ssl=context,
            server_hostname=where.host, ssl_handshake_timeout=HANDSHAKE_TIMEOUT,
        )  # fmt: skip
    except OSError as error:
        failure = context.failure or error
        if isinstance(failure, ssl.SSLError):
            raise NotTrusted(tls_error_text(failure, str(where))) from None
        raise
    return made[1]


def certificate_names(transport: asyncio.BaseTransport) -> frozenset[str] | None:
    """Return the names in the certificate of the other side, none if it showed none; None: this is not TLS."""
    if transport.get_extra_info("ssl_object") is None:
        return None
    certificate: dict[str, Any] = transport.get_extra_info("peercert") or {}
    return frozenset(name for kind, name in certificate.get("subjectAltName", ()) if kind == "DNS")


# --- what went wrong

# By the code of a verification that failed here.
_VERIFIED: Final = {
    9: ("the certificate of {other} is not valid yet", "look at the clocks"),
    10: ("the certificate of {other} has expired", "it must be renewed"),
    18: ("the certificate of {other} is signed by itself, and not trusted here", "give its authority"),
    19: ("the certificate of {other} is of an authority that is not trusted here", "give that authority"),
    20: ("the certificate of {other} is of an authority that is not trusted here", "give that authority"),
    21: ("the certificate of {other} is of an authority that is not trusted here", "give that authority"),
    62: ("the certificate of {other} is for another name", "dial a name that is in it, or make one with this name"),
    64: ("the certificate of {other} is for another address", "dial one that is in it, or make one with this address"),
}
# By the reason of any other failure: what the other side said of us, mostly.
_SAID: Final = {
    _NO_CERTIFICATE: ("{other} shows no certificate, and one is needed", "it must be told its certificate and key"),
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": ("{other} wants a certificate", "name a certificate and its key"),
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": ("{other} says that the certificate of this side has expired", "renew it"),
    "TLSV1_ALERT_UNKNOWN_CA": (
        "{other} does not trust the authority of the certificate of this side",
        "use a certificate of an authority that it trusts",
    ),
    "SSLV3_ALERT_BAD_CERTIFICATE": (
        "{other} does not take the certificate of this side",
        "is it for the name or address that was dialled?",
    ),
    "WRONG_VERSION_NUMBER": ("{other} does not speak TLS", "let both sides, or neither"),
    "HTTP_REQUEST": ("{other} speaks HTTP", "this is no place for browsers"),
}


def tls_error_text(error: ssl.SSLError | Exception, other: str = "the other side") -> str:
    """Return in one line why a connection was refused, and what to do."""
    said = None
    if isinstance(error, ssl.SSLCertVerificationError):
        said = _VERIFIED.get(error.verify_code)
        if said is None:
            return f"the certificate of {other} is not valid: {error.verify_message}"
    elif isinstance(error, ssl.SSLError):
        said = _SAID.get(error.reason or "")
    if said is None:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        return f"{other} cannot be spoken to by TLS: {reason}"
    problem, remedy = said
    return f"{problem.format(other=other)}; {remedy}"
