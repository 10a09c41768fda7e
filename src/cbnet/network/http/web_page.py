"""The web page of a router: files of the folder `page`, at `/` and `/page/…`.

The page needs no other server. Its content security policy allows scripts, styles and connections of its own origin
only, and no frames.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


async def web_page(request: Request) -> Response:
    """Return a file of the page."""
    name = request.path_params.get("name", "index.html")
    found = _files().get(name)
    if found is None:
        raise HTTPException(404)
    return Response(found, headers=_HEADERS, media_type=_TYPES[name[name.rindex(".") :]])


@cache
def _files() -> dict[str, bytes]:
    """Return the files by name."""
    folder = files("cbnet.network.http").joinpath("page")
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name.endswith(tuple(_TYPES))}
