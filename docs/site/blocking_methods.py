"""Extension of griffe: the methods of the blocking client have the documentation of the asyncio client's methods.

The source says `status = _blocking(AsyncClient.status)`; modules are parsed, never imported.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_FRONT = re.compile(r"_\w+\(AsyncClient\.(\w+)\)")


class BlockingMethods(griffe.Extension):
    """Replaces each such attribute by a function."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Replace the attributes of the class `Client`."""
        if pkg.name != "cbnet":
            return
        clients = pkg["network.client"]
        blocking, asyncio = clients["blocking_client.Client"], clients["async_client.AsyncClient"]
        for name, member in [*blocking.members.items()]:
            front = _FRONT.fullmatch(str(member.value)) if member.is_attribute else None
            if front is not None:
                method = asyncio[front[1]]
                blocking.set_member(name, _blocking(method, name))


def _blocking(method: griffe.Function, name: str) -> griffe.Function:
    returns = "Subscription" if str(method.returns) == "AsyncSubscription" else method.returns
    return griffe.Function(
        name,
        parameters=method.parameters,
        returns=returns,
        docstring=method.docstring,
        lineno=method.lineno,
        endlineno=method.endlineno,
    )
