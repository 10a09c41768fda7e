"""The routers that hold homes of durable subscriptions, as the newest home records state them.

Most homes have the name of their router. Those of a home group have a name of their own, as their routers change.
"""

from __future__ import annotations

from collections.abc import Collection


class HomeRouters:
    """The homes with another name than the router that holds them."""

    def __init__(self) -> None:
        self.changes = 0  # of the router of a home
        self._routers: dict[str, str] = {}

    def set(self, home: str, router: str) -> None:
        """Record the router that holds a home."""
        if router != self._routers.get(home, home):
            self.changes += 1
            if router == home:
                del self._routers[home]
            else:
                self._routers[home] = router

    def of(self, homes: Collection[str]) -> Collection[str]:
        """Return the routers that hold some homes."""
        return {self._routers.get(home, home) for home in homes} if self._routers else homes
