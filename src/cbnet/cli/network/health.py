"""`cbnet health`: does a router live, and may work be given to it? For people, and for what keeps routers running."""

from __future__ import annotations

from http.client import HTTPConnection, HTTPException
from typing import Annotated, Any

import typer

from cbnet.cli.console import AsJson, print_json
from cbnet.errors import CbnetError

_PATIENCE = 3.0  # seconds
_MOST = 1 << 16  # bytes of an answer


def health(
    where: Annotated[str, typer.Argument(metavar="ADDRESS", help="What the router was told as `http`.")] = (
        "127.0.0.1:9090"
    ),
    ready: Annotated[bool, typer.Option("--ready", help="Fail also if it is healthy and not ready.")] = False,
    json: AsJson = False,
) -> None:
    """Ask a router for its health; fail (exit 1) if it is not healthy, or does not answer in 3 s.

    Example: cbnet health 127.0.0.1:9090 --ready
    """
    is_healthy, ills = _asked(where, "/healthz", "healthy")
    is_ready, obstacles = _asked(where, "/readyz", "ready")
    if json:
        print_json({"healthy": is_healthy, "ready": is_ready, "reasons": ills or obstacles})
    else:
        print("; ".join([f"{'' if is_healthy else 'not '}healthy", f"{'' if is_ready else 'not '}ready", *obstacles]))
    if not is_healthy or (ready and not is_ready):
        raise typer.Exit(1)


def _asked(where: str, path: str, what: str) -> tuple[bool, list[str]]:
    """Return whether a router is so, and if not, why."""
    from msgspec import DecodeError
    from msgspec.json import decode

    from cbnet.network.protocol.addresses import parse_address

    connection = HTTPConnection(*parse_address(where), timeout=_PATIENCE)
    try:
        connection.request("GET", path)
        answer: Any = decode(connection.getresponse().read(_MOST))
        return bool(answer[what]), [str(reason) for reason in answer.get("reasons", ())]
    except OSError as error:
        raise CbnetError(f"no answer from {where}: {error.strerror or error}; was the router told this http?") from None
    except (HTTPException, DecodeError, AttributeError, KeyError, TypeError):
        raise CbnetError(
            f"what is at {where} tells no health; give the address that the router was told as http"
        ) from None
    finally:
        connection.close()
