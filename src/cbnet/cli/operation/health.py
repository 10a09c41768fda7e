"""`cbnet health`: check whether a router is healthy and ready, for people and for supervisors."""

from __future__ import annotations

from typing import Any

import typer

from cbnet.cli.console import print_json
from cbnet.cli.options import JSON, argument, flag, option, timeout_option
from cbnet.errors import CbnetError

_MAX_RESPONSE = 1 << 16  # bytes


def health(
    http_address: str = argument("127.0.0.1:9090", "[ADDRESS]", "HTTP address of the router (its setting `http`)."),
    ready: bool = flag("Fail also if the router is healthy but not ready."),
    timeout: float = timeout_option(3.0, "Timeout for an answer, in seconds."),
    authority: str | None = option(
        None, "FILE", "Use TLS, and trust the authority in this file; `system`: those of this system."
    ),
    json: bool = JSON,
) -> None:
    """Print a router's health; fail (exit 1) if it is not healthy or does not answer.

    Example: cbnet health 127.0.0.1:9090 --ready
    """
    is_healthy, problems, _ = _query(http_address, "/healthz", "healthy", timeout, authority)
    is_ready, obstacles, notes = _query(http_address, "/readyz", "ready", timeout, authority)
    if json:
        print_json({"healthy": is_healthy, "ready": is_ready, "reasons": problems or obstacles, "notes": notes})
    else:
        states = [f"{'' if is_healthy else 'not '}healthy", f"{'' if is_ready else 'not '}ready"]
        print("; ".join([*states, *obstacles, *notes]))
    if not is_healthy or (ready and not is_ready):
        raise typer.Exit(1)


def _query(
    http_address: str, path: str, key: str, timeout: float, authority: str | None
) -> tuple[bool, list[str], list[str]]:
    """Return the state that a router reports under a path, the reasons if it is false, and notes."""
    from http.client import HTTPConnection, HTTPException, HTTPSConnection

    from msgspec import DecodeError
    from msgspec.json import decode

    from cbnet.network.protocol.addresses import parse_address
    from cbnet.network.security.tls import Tls, client_context

    address = parse_address(http_address)
    connection = HTTPConnection(*address, timeout=timeout)
    if authority is not None:
        tls = Tls(None if authority == "system" else authority)
        connection = HTTPSConnection(*address, timeout=timeout, context=client_context(tls))
    try:
        connection.request("GET", path)
        answer: Any = decode(connection.getresponse().read(_MAX_RESPONSE))
        reasons, notes = ([str(text) for text in answer.get(name, ())] for name in ("reasons", "notes"))
        return bool(answer[key]), reasons, notes
    except OSError as error:
        reason = error.strerror or error
        raise CbnetError(
            f"no answer from {http_address}: {reason}; use the router's setting `http` as the address"
        ) from None
    except (HTTPException, DecodeError, AttributeError, KeyError, TypeError):
        raise CbnetError(
            f"the server at {http_address} does not report health; use the router's setting `http` as the address"
        ) from None
    finally:
        connection.close()
