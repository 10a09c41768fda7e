"""TLS contexts and connections, version 1.2 or later, and explanations of TLS failures.

    a router        presents its certificate to all peers. Clients check that it is for the host that they dial; routers
                    check that it is for the name in the `Hello`
    its neighbours  must present certificates for their router names
    its clients     may or must present one, depending on the configuration of the router

The names of a certificate are its subject alternative names of type dNSName; the common name is ignored. Trusted
authorities come from a file of certificates, or are those of the system.

If one side does not trust the other, both learn why. The event loops of asyncio and uvloop would close the connection
before the alert is sent, so the failure is held back until the alert is sent and the peer closes the connection.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from cbnet.errors import InputError
from cbnet.files import unreadable
from cbnet.network.errors import NotTrusted
from cbnet.network.protocol.addresses import Address

Protocol = TypeVar("Protocol", bound=asyncio.BaseProtocol)
HANDSHAKE_TIMEOUT: Final = 3.0  # seconds

_NO_CERTIFICATE: Final = "PEER_DID_NOT_RETURN_A_CERTIFICATE"


@dataclass(frozen=True)
class Tls:
    """Certificate, key and trusted authority of one side of a connection."""

    authority: str | Path | None = None  # file of certificates; None: those of the system
    certificate: str | Path | None = None  # file: own certificate, then the intermediate ones
    key: str | Path | None = None  # file: private key; None: it is in the certificate's file

    def __post_init__(self) -> None:
        if self.key is not None and self.certificate is None:
            raise InputError("a TLS key without its certificate", hint="give the file of the certificate too")


class _Handshake(ssl.SSLObject):
    """A handshake whose failure is sent to the peer as an alert."""

    _failure: ssl.SSLError | None = None

    def do_handshake(self) -> None:
        """Continue the handshake."""
        if self._failure is not None:
            raise self._failure
        try:
            super().do_handshake()
        except ssl.SSLWantReadError:
            raise
        except ssl.SSLError as error:
            context = self.context
            assert isinstance(context, TlsContext)
            context.record_failure(error)
            if not isinstance(error, ssl.SSLCertVerificationError) and error.reason != _NO_CERTIFICATE:
                raise
            self._failure = error.with_traceback(None)  # whose frames refer to this object
            raise ssl.SSLWantReadError from None  # the loop sends the alert now


class TlsContext(ssl.SSLContext):
    """A context that records failed handshakes."""

    sslobject_class = _Handshake
    on_failure: Callable[[str], None] | None = None  # called with the reason of a failed handshake
    failure: ssl.SSLError | None = None  # of the last handshake

    def record_failure(self, error: ssl.SSLError) -> None:
        """Record a failed handshake."""
        self.failure = error
        if self.on_failure is not None:
            self.on_failure(tls_error_text(error))


class TlsContexts(NamedTuple):
    """The contexts of a router; None: no TLS."""

    server: TlsContext | None
    client: TlsContext | None  # to dial neighbours: the name in their `Hello` is checked, not the host


def router_contexts(tls: Tls | None, *, needs_certificate: bool) -> TlsContexts:
    """Return the TLS contexts of a router, read from its files; `needs_certificate`: its clients must present one."""
    if tls is None:
        return TlsContexts(None, None)
    if tls.certificate is None:
        raise InputError("no TLS certificate", hint="give the files of the certificate and its key")
    server = _context(ssl.PROTOCOL_TLS_SERVER, tls)
    server.verify_mode = ssl.CERT_REQUIRED if needs_certificate else ssl.CERT_OPTIONAL
    return TlsContexts(server, client_context(tls, checks_host=False))


def client_context(tls: Tls, *, checks_host: bool = True) -> TlsContext:
    """Return the context for dialled connections; `checks_host`: the certificate must be for the host."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT, tls)
    context.check_hostname = checks_host
    return context


def _context(protocol: int, tls: Tls) -> TlsContext:
    context = TlsContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    file, what = tls.authority, "a certificate of an authority"
    try:
        if tls.authority is None:
            is_server = protocol == ssl.PROTOCOL_TLS_SERVER
            context.load_default_certs(ssl.Purpose.CLIENT_AUTH if is_server else ssl.Purpose.SERVER_AUTH)
        else:
            context.load_verify_locations(tls.authority)
        if tls.certificate is not None:
            file, what = tls.certificate, "a certificate with its key"
            context.load_cert_chain(tls.certificate, tls.key, _no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            problem, file = "the key does not match the certificate", tls.key or tls.certificate
        else:
            problem = f"not {what} in PEM format"
        raise InputError(problem, file=str(file)) from None
    except OSError as error:
        raise unreadable(error.filename if isinstance(error.filename, str) else str(file), error) from None
    return context


def _no_password() -> str:
    raise InputError("the key has a password, which is not supported", hint="use a key without a password")


# --- connections


async def dial(protocol: Callable[[], Protocol], where: Address, context: TlsContext | None) -> Protocol:
    """Connect to an address and return the protocol; raise `NotTrusted` if one side does not trust the other."""
    loop = asyncio.get_running_loop()
    if context is None:
        return (await loop.create_connection(protocol, where.host, where.port))[1]
    context.failure = None
    try:
        _, connected = await loop.create_connection(
            protocol, where.host, where.port, ssl=context,
            server_hostname=where.host, ssl_handshake_timeout=HANDSHAKE_TIMEOUT,
        )  # fmt: skip
    except OSError as error:
        failure = context.failure or error
        if isinstance(failure, ssl.SSLError):
            raise NotTrusted(tls_error_text(failure, str(where))) from None
        raise
    return connected


def certificate_names(transport: asyncio.BaseTransport) -> frozenset[str] | None:
    """Return the names in the peer's certificate, empty if it presented none; None without TLS."""
    if transport.get_extra_info("ssl_object") is None:
        return None
    certificate: dict[str, Any] = transport.get_extra_info("peercert") or {}
    return frozenset(name for kind, name in certificate.get("subjectAltName", ()) if kind == "DNS")


# --- failures

# Verification failures on this side, by code.
_VERIFICATION_TEXTS: Final = {
    9: ("the certificate of {other} is not valid yet", "check the clocks"),
    10: ("the certificate of {other} has expired", "renew it"),
    18: ("the certificate of {other} is self-signed and not trusted", "configure its authority"),
    19: ("the certificate of {other} is from an untrusted authority", "configure that authority"),
    20: ("the certificate of {other} is from an untrusted authority", "configure that authority"),
    21: ("the certificate of {other} is from an untrusted authority", "configure that authority"),
    62: ("the certificate of {other} is for another name", "dial a name in it, or issue one for this name"),
    64: ("the certificate of {other} is for another address", "dial an address in it, or issue one for this address"),
}
# Any other failures, mostly alerts from the peer, by reason.
_ALERT_TEXTS: Final = {
    _NO_CERTIFICATE: ("{other} presents no certificate, which is required", "configure its certificate and key"),
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": ("{other} requires a certificate", "configure a certificate and its key"),
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": ("{other} rejects this side's certificate: it has expired", "renew it"),
    "TLSV1_ALERT_UNKNOWN_CA": (
        "{other} does not trust the authority of this side's certificate",
        "use a certificate of an authority that it trusts",
    ),
    "SSLV3_ALERT_BAD_CERTIFICATE": (
        "{other} rejects this side's certificate",
        "check that it is for the name of this router, or for the address that was dialled",
    ),
    "WRONG_VERSION_NUMBER": ("{other} does not use TLS", "enable TLS on both sides, or on neither"),
    "HTTP_REQUEST": ("{other} uses HTTP", "connect with a cbnet client"),
}


def tls_error_text(error: ssl.SSLError | Exception, other: str = "the peer") -> str:
    """Return the reason why a TLS connection failed, and the remedy, in one line."""
    text = None
    if isinstance(error, ssl.SSLCertVerificationError):
        text = _VERIFICATION_TEXTS.get(error.verify_code)
        if text is None:
            return f"the certificate of {other} is not valid: {error.verify_message}"
    elif isinstance(error, ssl.SSLError):
        text = _ALERT_TEXTS.get(error.reason or "")
    if text is None:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        return f"TLS with {other} failed: {reason}"
    problem, remedy = text
    return f"{problem.format(other=other)}; {remedy}"
